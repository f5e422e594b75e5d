import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  generateApiKeyId,
  type IdempotencyKey,
  type OrderEventId,
  orderId,
  SERVICE_ACTOR,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import {
  followEvents,
  importOrders,
  NOW,
  newOrder,
  pendingOrder,
  runSql,
  UNKNOWN_KEY_ID,
  useTestStore,
} from './support.ts';

// What logical replication, COPY and a restore of the data alone leave: rows, and sequences that begin at 1.

const store = useTestStore();
beforeEach(async () => {
  await store.clear();
  await store.query('truncate key_events restart identity');
});

const resetSequences = () =>
  store.query(
    `select setval(name, 1, false) from unnest('{orders_id_seq,order_events_id_seq,key_events_id_seq}'::text[]) name`,
  );

/** Orders with the ids 1 to 40, and an event for each. */
async function replicate(): Promise<void> {
  await importOrders(
    store,
    Array.from({ length: 40 }, (_, i) => pendingOrder(BigInt(i + 1))),
  );
  await recordBan();
  await resetSequences();
}

const recordBan = () =>
  store.persistence.audit.recordBan({ action: 'ban.set', at: NOW, actor: SERVICE_ACTOR, keyId: UNKNOWN_KEY_ID });
const cancel = (id: bigint) => store.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
const place = (key?: string) =>
  store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN, key as IdempotencyKey | undefined);
const eventIds = async () => (await store.query('select id from order_events order by id')).rows.map(([id]) => id);
const nextIds = async () => {
  const next = (name: string) => `(select last_value + is_called::integer from ${name})`;
  const { rows } = await store.query(
    `select ${next('orders_id_seq')}, ${next('order_events_id_seq')}, ${next('key_events_id_seq')}`,
  );
  return rows[0]?.map(Number);
};

const key = () => ({
  id: generateApiKeyId(randomBytes),
  name: 'test',
  kind: 'external' as const,
  readOnly: false,
  plan: { name: 'free' as const },
  createdAt: NOW,
});

test('sequences are brought to their tables, and then stay where they are', async () => {
  await replicate();
  expect([...(await store.persistence.sequences.findBehind()).keys()]).toEqual([
    'orders_id_seq', 'order_events_id_seq', 'key_events_id_seq',
  ]); // biome-ignore format: one list
  expect(await nextIds()).toEqual([1, 1, 1]);
  await store.persistence.sequences.align();
  expect(await nextIds()).toEqual([41, 41, 2]);
  expect((await store.persistence.sequences.findBehind()).size).toBe(0);
  await store.query(`select setval('order_events_id_seq', 1000), setval('orders_id_seq', 9000, false)`);
  await store.persistence.sequences.align();
  expect(await nextIds()).toEqual([9_000, 1_001, 2]);
});

test('a new database has nothing to move', async () => {
  await store.persistence.sequences.align();
  expect(await nextIds()).toEqual([1, 1, 1]);
});

test('ids that followers have passed are not given again, though their events are deleted', async () => {
  await store.query('update order_events_deleted set through_id = 40');
  await store.persistence.sequences.align();
  const stop = new AbortController();
  const followed = await followEvents(store.persistence, 40n as OrderEventId, stop.signal);
  await place();
  for await (const [event] of followed) {
    expect(event?.id).toBe(41n);
    stop.abort();
  }
  const page = await store.persistence.events.readEvents(40n as OrderEventId, 10);
  expect(page.events.map(({ id }) => id)).toEqual([41n]);
});

describe('a change that draws an id in use fails and names migrate, after which events ascend', () => {
  const expectRefused = async (change: Promise<unknown>) => {
    const error = await change.catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StorageUnavailableError); // the caller gets 503
    expect(error).toHaveProperty(
      'message',
      expect.stringMatching(/^the sequence \w+_id_seq .* run "petstore migrate"$/),
    );
  };

  beforeEach(replicate);

  test.each<[string, () => Promise<unknown>, bigint]>([
    ['a command', () => cancel(3n), 1n],
    ['commands of one tick', () => Promise.all([cancel(3n), cancel(4n), cancel(5n)]), 3n],
    ['commands one after another', async () => [await cancel(3n), await cancel(4n)], 2n],
    ['placing', () => place(), 1n],
    ['placing with an idempotency key', () => place('a key'), 1n],
    ['an import', () => importOrders(store, [pendingOrder(70n)]), 1n],
    ['generated orders', () => store.persistence.orders.generateOrders({ count: 2, seed: 1, now: NOW }), 2n],
  ])('%s', async (_, change, count) => {
    await expectRefused(change());
    await store.persistence.sequences.align();
    await change();
    expect(await eventIds()).toEqual(Array.from({ length: 40 + Number(count) }, (_, i) => String(i + 1)));
  });

  test('a ban, and the creation of a key', async () => {
    await expectRefused(recordBan());
    await resetSequences();
    await expectRefused(store.persistence.keyAdministration.createKey(key(), randomBytes(32)));
    await store.persistence.sequences.align();
    await recordBan();
    await store.persistence.keyAdministration.createKey(key(), randomBytes(32));
    expect((await store.query('select id from key_events order by id')).rows).toEqual([['1'], ['2'], ['3']]);
  });

  test('many at once, after several processes have started', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    await Promise.all([store.persistence.sequences.align(), other.sequences.align()]);
    const placed = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 === 0 ? store.persistence : other).orders.insertOrder(newOrder(), SERVICE_ORIGIN),
      ),
    );
    expect(new Set(placed.map(({ order }) => order.id)).size).toBe(60);
    expect(new Set(await eventIds()).size).toBe(100);
  });
});

test('a sequence does not move while a writer of events is at work, so that none goes back', async () => {
  await replicate();
  await store.query('begin; lock table order_events in row exclusive mode');
  try {
    expect([...(await store.persistence.sequences.align()).keys()]).toEqual(['order_events_id_seq']);
  } finally {
    await store.query('rollback');
  }
  expect((await store.persistence.sequences.align()).size).toBe(0);
});

test('a command waits for a writer of events as long as it waits for any lock', async () => {
  await replicate();
  await using command = openPersistence({ databaseUrl: store.url, patienceMs: 20_000 });
  await command.ping();
  await store.query('begin; lock table order_events in row exclusive mode');
  const aligning = command.sequences.align();
  await Promise.race([aligning, sleep(2_000)]); // longer than a server waits
  await store.query('rollback');
  expect([...(await aligning).keys()]).toEqual([]);
});

describe('where nothing can be moved', () => {
  test('a role without the right goes on, names the sequence, and says so to callers', async () => {
    await replicate();
    const role = `reader_${randomUUID().replaceAll('-', '')}`;
    await store.query(`create role ${role} login password 'secret';
      grant select, insert, update on all tables in schema public to ${role};
      grant select on all sequences in schema public to ${role}`);
    try {
      const { href } = Object.assign(new URL(store.url), { username: role, password: 'secret' });
      await using persistence = openPersistence({ databaseUrl: href });
      expect((await persistence.sequences.align()).get('key_events_id_seq')).toBe(
        'permission denied for sequence key_events_id_seq',
      );
      expect(await persistence.orders.findOrder(orderId(1n))).toBeDefined();
      await expect(persistence.orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN)).rejects.toThrow(
        StorageUnavailableError,
      );
      await runSql(store.url, `revoke select on sequence key_events_id_seq from ${role}`);
      expect((await persistence.sequences.align()).get('key_events_id_seq')).toContain('permission denied');
    } finally {
      await store.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});

test('a generation that moves the sequence of its ids still waits for the lock of a table for any time', async () => {
  await importOrders(store, [pendingOrder(1n), pendingOrder(2n)]);
  await store.query(`select setval('orders_id_seq', 1, false)`);
  await store.query('begin; lock table orders in share mode');
  const made = Promise.withResolvers<void>();
  const generating = store.persistence.orders.generateOrders({
    count: 2,
    seed: 1,
    now: NOW,
    onProgress: (count) => count === 2 && made.resolve(),
  });
  await Promise.race([made.promise, generating]);
  await sleep(2_000); // longer than a statement that moves a sequence waits for a lock
  await store.query('commit');
  expect(await generating).toBe(2);
});
