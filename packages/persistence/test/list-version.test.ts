import {
  type ApiKeyId,
  actor,
  type Order,
  type OrderId,
  type OrderListVersion,
  orderId,
  StorageUnavailableError,
} from '@petstore/domain';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, NOW, newOrder, numbered, pendingOrder, UNKNOWN_KEY_ID, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const ORIGIN = { actor: actor('key', UNKNOWN_KEY_ID satisfies ApiKeyId) };
const later = () => new Date(Date.now() + 1_000);

/** The states of orders, by id. */
type States = ReadonlyMap<OrderId, string>;

async function statesIn({ orders }: Persistence, version?: OrderListVersion): Promise<States> {
  const batches = await collect(orders.listOrderTexts(version));
  return new Map(batches.flatMap((batch) => [...batch.orders].map(({ id, status }) => [orderId(BigInt(id)), status])));
}

const place = async ({ orders }: Persistence): Promise<Order> =>
  (await orders.insertOrder(newOrder({ placedAt: new Date() }), ORIGIN)).order;

/** A transaction that has drawn the id of its event, and can end after later ones. */
async function beginToPlace(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  const facts = `7, 1, 'pending', false, now()`;
  const { rows } = await client.query<{ id: string }>(
    `with placed as (
       insert into orders (pet_id, quantity, status, complete, placed_at) values (${facts}) returning *
     ), recorded as (
       insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
       select 'order.placed', now(), 'service:test', id, pet_id, quantity, status, complete, placed_at from placed
     )
     select id from placed`,
  );
  const id = orderId(BigInt(rows[0]?.id ?? 0));
  return {
    async end(how: 'commit' | 'rollback'): Promise<OrderId> {
      await client.query(how);
      return id;
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

describe('the version of the list', () => {
  test('stays the same while no order changes, on any server, also when its events have expired', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const { orders, events } = store.persistence;
    const names = [(await orders.findListVersion())?.name];
    await place(store.persistence);
    names.push((await orders.findListVersion())?.name, (await other.orders.findListVersion())?.name);
    await events.deleteExpired({ eventsBefore: later(), now: NOW, signal: AbortSignal.timeout(10_000) });
    names.push((await other.orders.findListVersion())?.name);
    expect(names).toEqual(['0', expect.stringMatching(/^1-\d{13}$/), names[1], names[1]]);
  });

  test('is another one after a restored backup gave the same ids again', async () => {
    await place(store.persistence);
    const before = await store.persistence.orders.findListVersion();
    await store.clear();
    await place(store.persistence);
    const after = await store.persistence.orders.findListVersion();
    expect([before?.name, after?.name]).toEqual([expect.stringMatching(/^1-/), expect.stringMatching(/^1-/)]);
    expect(after?.name).not.toBe(before?.name);
  });

  test('is unknown while a transaction may still commit an earlier event', async () => {
    await using writer = await beginToPlace(store.url);
    await place(store.persistence);
    expect(await store.persistence.orders.findListVersion()).toBeUndefined();
    await writer.end('commit');
    expect((await store.persistence.orders.findListVersion())?.name).toMatch(/^2-/);
  });

  test('ends a list that another server has taken over', async () => {
    await place(store.persistence);
    const version = { name: '1-0', server: Symbol('former') };
    await expect(statesIn(store.persistence, version)).rejects.toThrow(StorageUnavailableError);
  });
});

type Step =
  | { readonly type: 'place' | 'cancel' | 'import' | 'restart' | 'ask'; readonly server: 0 | 1 }
  | { readonly type: 'begin' | 'commit' | 'rollback' | 'expire' };

const server = fc.constantFrom(0, 1);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('place', 'cancel', 'import', 'restart'), server }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('begin', 'commit', 'rollback', 'expire') }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('ask'), server }) },
) as fc.Arbitrary<Step>; // `constantFrom` widens the literals

/** Two servers, those who write through them or past them, and a client that keeps the list of each version. */
class Shop {
  readonly #servers = [openPersistence({ databaseUrl: store.url }), openPersistence({ databaseUrl: store.url })];
  readonly #writers = new AsyncDisposableStack();
  readonly #open: Awaited<ReturnType<typeof beginToPlace>>[] = [];
  /** What was acknowledged. */
  readonly #states = new Map<OrderId, string>();
  readonly #kept = new Map<string, States>();
  #importedCount = 0n;
  unchangedCount = 0;

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case 'place':
        this.#states.set((await place(this.#server(step.server))).id, 'pending');
        return;
      case 'cancel': {
        const [id] = [...this.#states].find(([, status]) => status === 'pending') ?? [];
        if (id === undefined) return;
        const { applied } = await this.#server(step.server).orders.applyCommand(id, 'cancel', new Date(), ORIGIN);
        if (applied) this.#states.set(id, 'cancelled');
        return;
      }
      case 'import': {
        // Beyond the ids that placing draws, which may be those of open transactions.
        const id = 2n ** 60n + this.#importedCount++;
        await this.#server(step.server).orders.importOrders(numbered([pendingOrder(id)]));
        this.#states.set(orderId(id), 'pending');
        return;
      }
      case 'restart': {
        const former = this.#servers[step.server];
        this.#servers[step.server] = openPersistence({ databaseUrl: store.url });
        await former?.close().catch(() => {});
        return;
      }
      case 'begin':
        this.#open.push(this.#writers.use(await beginToPlace(store.url)));
        return;
      case 'commit':
      case 'rollback': {
        const id = await this.#open.shift()?.end(step.type);
        if (id !== undefined && step.type === 'commit') this.#states.set(id, 'pending');
        return;
      }
      case 'expire': {
        const signal = AbortSignal.timeout(10_000);
        await this.#server(0).events.deleteExpired({ eventsBefore: later(), now: NOW, signal });
        return;
      }
      case 'ask':
        return this.#ask(step.server);
      default:
        step satisfies never;
    }
  }

  /** Asks for the list as a client does that has kept those of earlier versions. */
  async #ask(server: 0 | 1): Promise<void> {
    const acknowledged = [...this.#states];
    const persistence = this.#server(server);
    const version = await persistence.orders.findListVersion();
    const kept = version && this.#kept.get(version.name);
    if (kept !== undefined) this.unchangedCount++;
    const list = kept ?? (await statesIn(persistence, version));
    if (version !== undefined) this.#kept.set(version.name, list);
    for (const [id, status] of acknowledged) {
      const listed = list.get(id);
      const isCurrent = listed === status || (status === 'pending' && listed === 'cancelled');
      if (!isCurrent) throw new Error(`order ${id} is ${status}, and listed as ${listed}, by version ${version?.name}`);
    }
  }

  #server(index: 0 | 1): Persistence {
    return this.#servers[index] as Persistence; // there are two
  }

  async [Symbol.asyncDispose]() {
    await this.#writers.disposeAsync();
    for (const persistence of this.#servers) await persistence.close();
  }
}

describe('a list that is said to be unchanged', () => {
  let unchangedCount = 0;
  afterAll(() => expect(unchangedCount).toBeGreaterThan(10));

  test('contains every change that was committed before it was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 25 }),
        async (turns) => {
          await store.clear();
          await using shop = new Shop();
          // The steps of a turn happen at the same time. One whose server was restarted fails.
          for (const steps of turns) {
            const ends = await Promise.allSettled(steps.map((each) => shop.take(each)));
            for (const end of ends) {
              if (end.status === 'rejected' && !(end.reason instanceof StorageUnavailableError)) throw end.reason;
            }
          }
          unchangedCount += shop.unchangedCount;
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);
});
