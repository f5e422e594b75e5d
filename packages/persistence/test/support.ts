import { randomBytes } from 'node:crypto';
import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  generateApiKeyId,
  LISTED_FIELDS,
  type NewOrder,
  type Order,
  type OrderEvent,
  type OrderText,
  orderId,
  orderTextOf,
  type PendingOrder,
  petId,
  SERVICE_ACTOR,
  SERVICE_ORIGIN,
  type StoredOrder,
} from '@petstore/domain';
import { createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { ImportItem } from '../src/import-rows.ts';
import { describeStorageFailure, openPersistence, type Persistence } from '../src/index.ts';

export interface TestStore extends AsyncDisposable {
  readonly url: string;
  readonly persistence: Persistence;
  /** For what the persistence offers no way to do. */
  query(text: string, values?: unknown[]): Promise<pg.QueryArrayResult<string[]>>;
  /** Empties the tables of orders and pets; ids are counted from 1 again. */
  clear(): Promise<void>;
}

const template = {
  name: 'persistence',
  async prepare(databaseUrl: string) {
    await using persistence = openPersistence({ databaseUrl });
    await persistence.migrations.migrate();
  },
};

const asText = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig; // keeps every value as text

/** A database of its own with the whole schema, open. */
export async function openTestStore(): Promise<TestStore> {
  const database = await createTestDatabase({ template });
  const persistence = openPersistence({ databaseUrl: database.url });
  const client = new pg.Client({ connectionString: database.url, types: asText });
  await client.connect();
  await client.query('set timezone to utc');
  return {
    url: database.url,
    persistence,
    query: (text, values) => client.query<string[]>({ text, rowMode: 'array', ...(values && { values }) }),
    async clear() {
      await client.query('truncate orders, pets, order_events, idempotency_keys restart identity');
      await client.query('update order_events_deleted set through_id = 0, through_at = null');
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await persistence.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A store for the tests of a file or of a group: open from before the first of them until after the last. */
export function useTestStore(): TestStore {
  const store = {} as TestStore; // it is filled before the first test reads it
  beforeAll(async () => {
    Object.assign(store, await openTestStore());
  });
  afterAll(() => store[Symbol.asyncDispose]());
  return store;
}

export const NOW = new Date('2026-03-04T05:06:07.089Z');

/** The id of a key that does not exist. */
export const UNKNOWN_KEY_ID = generateApiKeyId((count) => new Uint8Array(count));

export const newKey = (id = generateApiKeyId(randomBytes)) =>
  ({ id, name: 'test', kind: 'external', readOnly: false, plan: { name: 'free' }, createdAt: NOW }) as const;

export const newOrder = (facts: Partial<NewOrder> = {}): NewOrder => ({
  petId: petId(7n),
  quantity: 1,
  status: 'pending',
  complete: false,
  placedAt: NOW,
  ...facts,
});

const facts = (id: bigint) => ({ id: orderId(id), petId: petId(7n), quantity: 1, placedAt: NOW });

export const pendingOrder = (id: bigint): PendingOrder => ({ ...facts(id), status: 'pending', complete: false });
export const shippedOrder = (id: bigint): Extract<Order, { readonly status: 'shipped'; readonly complete: false }> => ({
  ...facts(id),
  status: 'shipped',
  complete: false,
  shippedAt: new Date('2026-03-05T00:00:00.000Z'),
});
export const completedOrder = (id: bigint): Extract<Order, { readonly complete: true }> => ({
  ...shippedOrder(id),
  complete: true,
  completedAt: new Date('2026-03-06T00:00:00.120Z'),
});
export const cancelledOrder = (id: bigint): Extract<Order, { readonly status: 'cancelled' }> => ({
  ...facts(id),
  status: 'cancelled',
  complete: false,
  cancelledAt: new Date('2026-03-05T00:00:00.001Z'),
});

export async function* numbered<Value>(values: Iterable<Value>): AsyncGenerator<ImportItem<Value>> {
  let line = 1;
  for (const value of values) yield { line: line++, value };
}

export async function importOrders({ persistence }: TestStore, orders: readonly Order[]): Promise<void> {
  const { insertedCount } = await persistence.orders.importOrders(numbered(orders));
  if (insertedCount !== orders.length) throw new Error('the orders of a test must be importable');
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function listedOrders({ persistence }: TestStore): Promise<StoredOrder[]> {
  return (await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders);
}

/** Orders as lists of text hold them. */
export const textsOf = (orders: readonly Order[]): OrderText[] => orders.map(orderTextOf);

export async function listedTexts({ persistence }: TestStore): Promise<OrderText[]> {
  return (await collect(persistence.orders.listOrderTexts(LISTED_FIELDS))).flatMap(({ orders }) => [...orders]);
}

/** A connection of its own, for transactions that stay open. */
export async function openClient(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** Runs a statement on a connection of its own. */
export async function runSql(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/**
 * Creates a role, whose password is its name, that may do all that a server does and more.
 *
 * @param url that of its owner, whose tables it may use
 * @param setting a setting of its own, as in `alter role ... set`
 * @returns its URL
 */
export async function createRole(url: string, name: string, setting?: string): Promise<string> {
  await runSql(
    url,
    `create role ${name} login password '${name}';
     ${setting === undefined ? '' : `alter role ${name} set ${setting};`}
     grant all on all tables in schema public to ${name};
     grant all on all sequences in schema public to ${name}`,
  );
  return Object.assign(new URL(url), { username: name, password: name }).href;
}

/** Opens every connection, so that each of them meets what comes. */
export async function useAllConnections({ orders }: Persistence): Promise<void> {
  const calls = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0 ? orders.findOrder(orderId(-1n)) : orders.applyCommand(orderId(-1n), 'cancel', NOW, SERVICE_ORIGIN),
  );
  await Promise.all(calls);
}

/** Why a call failed, in the words for an operator; `none` if it did not. */
export const reasonOf = (call: Promise<unknown>): Promise<string> => call.then(() => 'none', describeStorageFailure);

export type Way = (persistence: Persistence) => Promise<unknown>;

/** These ask nothing of PostgreSQL. */
type NeedsNothing = 'close' | 'load' | 'loadOrm' | 'observe';

/** `ping`, and `orders.insertOrder`, for all that the door offers. */
type WayName = Exclude<
  {
    [Part in Exclude<keyof Persistence & string, NeedsNothing>]: Persistence[Part] extends (...args: never[]) => unknown
      ? Part
      : `${Part}.${keyof Persistence[Part] & string}`;
  }[Exclude<keyof Persistence & string, NeedsNothing>],
  'events.wakeWaiting'
>;

/** Every way to PostgreSQL there is: a new one does not compile until it is here, too. */
export const WAYS = {
  ping: ({ ping }) => ping(),
  'migrations.status': ({ migrations }) => migrations.status(),
  'migrations.assertMigrated': ({ migrations }) => migrations.assertMigrated(),
  'migrations.migrate': ({ migrations }) => migrations.migrate(),
  'sequences.findBehind': ({ sequences }) => sequences.findBehind(),
  'sequences.align': ({ sequences }) => sequences.align(),
  'orders.applyCommand': ({ orders }) => orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN),
  'orders.insertOrder': ({ orders }) => orders.insertOrder(newOrder(), SERVICE_ORIGIN),
  'orders.findOrder': ({ orders }) => orders.findOrder(orderId(1n)),
  'orders.findOrders': ({ orders }) => orders.findOrders({ filter: {}, limit: 1 }),
  'orders.listOrders': ({ orders }) => collect(orders.listOrders()),
  'orders.listOrderTexts': ({ orders }) => collect(orders.listOrderTexts(LISTED_FIELDS)),
  'orders.countOrders': ({ orders }) => orders.countOrders('pending'),
  'orders.importOrders': ({ orders }) => orders.importOrders(numbered([pendingOrder(2n)])),
  'orders.generateOrders': ({ orders }) => orders.generateOrders({ count: 1, seed: 1, now: NOW }),
  'pets.countPets': ({ pets }) => pets.countPets(),
  'pets.findPet': ({ pets }) => pets.findPet(petId(1n)),
  'pets.importPets': ({ pets }) => pets.importPets(numbered([{ id: petId(1n), name: 'Rex' }])),
  'pets.listPets': ({ pets }) => collect(pets.listPets()),
  'apiKeys.findSecret': ({ apiKeys }) => apiKeys.findSecret(new Uint8Array(32)),
  'apiKeys.markKeyUsed': ({ apiKeys }) => apiKeys.markKeyUsed(UNKNOWN_KEY_ID, NOW),
  'keyAdministration.createKey': ({ keyAdministration }) => keyAdministration.createKey(newKey(), randomBytes(32)),
  'keyAdministration.listKeys': ({ keyAdministration }) => keyAdministration.listKeys(),
  'keyAdministration.findKey': ({ keyAdministration }) => keyAdministration.findKey(UNKNOWN_KEY_ID),
  'keyAdministration.rotateKey': ({ keyAdministration }) =>
    keyAdministration.rotateKey(UNKNOWN_KEY_ID, {
      secretHash: randomBytes(32),
      now: NOW,
      overlapEndsAt: new Date('2027-01-01'),
    }),
  'keyAdministration.revokeKey': ({ keyAdministration }) => keyAdministration.revokeKey(UNKNOWN_KEY_ID, NOW),
  'keyAdministration.setPlan': ({ keyAdministration }) =>
    keyAdministration.setPlan(UNKNOWN_KEY_ID, { name: 'pro' }, NOW),
  'audit.recordBan': ({ audit }) =>
    audit.recordBan({ action: 'ban.set', at: NOW, actor: SERVICE_ACTOR, keyId: UNKNOWN_KEY_ID }),
  'audit.read': ({ audit }) => audit.read({ limit: 1 }),
  'events.waitForEvents': ({ events }) => events.waitForEvents(BEGINNING_OF_EVENTS, 1, AbortSignal.timeout(3_000)),
  'events.readEvents': ({ events }) => events.readEvents('now', 1),
  'events.deleteExpired': ({ events }) =>
    events.deleteExpired({ eventsBefore: NOW, now: NOW, signal: new AbortController().signal }),
  'events.findOldest': ({ events }) => events.findOldest(),
} satisfies Record<WayName, Way>;

/** Follows events as a caller does, who waits again behind what has come, until the signal is aborted. */
export async function followEvents({ events }: Pick<Persistence, 'events'>, after: EventPosition, signal: AbortSignal) {
  const position = after === 'now' ? (await events.readEvents(after, 1)).nextAfter : after;
  const follow = async function* () {
    for (let page = { events: [] as readonly OrderEvent[], nextAfter: position }; !signal.aborted; ) {
      page = await events.waitForEvents(page.nextAfter, 1_000, signal);
      if (page.events.length > 0) yield page.events;
    }
  };
  return { position, [Symbol.asyncIterator]: follow };
}
