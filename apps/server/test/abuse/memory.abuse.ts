import { randomInt } from 'node:crypto';
import { createPetstoreClient } from '@petstore/client';
import type { OrderRepository } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import { readMemoryInUse } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overriding } from '../http/support/replaced-parts.ts';
import { startTestApp, type TestApp } from '../http/support/test-app.ts';
import { createKey, importPets } from '../support/database.ts';
import { startAttackedServer } from './support/attacked-server.ts';
import { type KnownKeys, type Outcome, oddRequests, sendAll } from './support/odd-requests.ts';

/** Requests until all memories of keys and addresses are full. */
const STRANGERS_REQUESTS = 30_000;
/** Requests until the engine has compiled hot code and dropped the code of the start: 5 MB. */
const SETTLED_REQUESTS = 60_000;
const ALL_REQUESTS = 200_000;
/** How many bytes more than after the warm-up the server may hold at the end: 11 a request. 0.7 MB were measured. */
const GROWTH_MAX_BYTES = 1_500_000;
/** A list comes in two batches. */
const ORDERS = 5_000;

/** Of the requests; the order in which they arrive differs all the same. */
const seed = Number(process.env['PETSTORE_ABUSE_SEED'] ?? randomInt(2 ** 30));

async function createKeys(persistence: Persistence): Promise<KnownKeys> {
  const external = await Promise.all(Array.from({ length: 10 }, () => createKey(persistence)));
  const internal = await createKey(persistence, { kind: 'internal' });
  const narrow = await createKey(persistence, { plan: { name: 'free' } });
  const expired = await createKey(persistence, { expiresAt: new Date(0) });
  return {
    external: external.map((key) => key.text),
    internal: internal.text,
    narrow: narrow.text,
    expired: expired.text,
  };
}

test('200,000 requests of all kinds leave no memory in use', async () => {
  await using target = await startAttackedServer({
    TRUST_PROXY: '1',
    CORS_ORIGINS: 'https://shop.example',
    LOG_LEVEL: 'error',
  });
  const { server, port, persistence, readMemory } = target;
  await persistence.orders.generateOrders({ count: ORDERS, seed: 1, now: new Date() });
  await importPets(persistence, [{ id: 1n, name: 'Ada' }]);
  const keys = await createKeys(persistence);
  const outcomes = new Map<Outcome, number>();
  const send = (from: number, to: number, { strangers = false } = {}) =>
    sendAll(oddRequests({ seed: seed + from, keys, count: to - from, strangers }), outcomes, { port, concurrency: 32 });

  const startBytes = await readMemory();
  await send(0, STRANGERS_REQUESTS, { strangers: true });
  await send(STRANGERS_REQUESTS, SETTLED_REQUESTS);
  const settledBytes = await readMemory();
  await send(SETTLED_REQUESTS, ALL_REQUESTS);
  const endBytes = await readMemory();

  const [start, settled, end] = [startBytes, settledBytes, endBytes].map((bytes) => (bytes / 1e6).toFixed(2));
  console.log(`PETSTORE_ABUSE_SEED=${seed}`, outcomes);
  console.log(`${start} MB at the start, ${settled} after ${SETTLED_REQUESTS} requests, ${end} after ${ALL_REQUESTS}`);
  // Otherwise the generated requests are of no use.
  const worthSending = [200, 204, 400, 401, 403, 404, 405, 409, 413, 415, 417, 429, 431, 'aborted'];
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(worthSending));
  expect(outcomes.has(500)).toBe(false);
  expect(server.stdout).not.toContain('"level":"error"');
  expect(endBytes - settledBytes).toBeLessThan(GROWTH_MAX_BYTES);
});

describe('a list of 200,000 orders over tRPC', () => {
  /** As objects they take some 50 MB; a few megabytes come and go with the garbage. */
  const LITTLE_BYTES = 20_000_000;
  const COUNT = 200_000;

  let app: TestApp;
  /** How many batches the server has taken from the database, in all listings together. */
  let batchesTaken = 0;
  let endedListings = 0;
  beforeAll(async () => {
    const counted = (orders: OrderRepository) =>
      overriding(orders, {
        async *listOrders() {
          try {
            for await (const batch of orders.listOrders()) {
              batchesTaken++;
              yield batch;
            }
          } finally {
            endedListings++;
          }
        },
      });
    app = await startTestApp({ orders: COUNT, wrap: { orders: counted } });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const read = (signal = new AbortController().signal) =>
    createPetstoreClient({ baseUrl: app.origin, apiKey: app.key }).orders.list.query(undefined, { signal });

  test('is never in memory as a whole, in the server or in a client that keeps up, and holds every order once', async () => {
    const before = await readMemoryInUse();
    let peak = 0;
    let batches = 0;
    const ids: bigint[] = [];
    for await (const batch of await read()) {
      for (const { id } of batch) ids.push(id);
      if (++batches % 30 === 0) peak = Math.max(peak, await readMemoryInUse());
    }
    expect(ids).toHaveLength(COUNT);
    expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? id))).toBe(true);
    expect(peak - before).toBeLessThan(LITTLE_BYTES);
    expect(batchesTaken).toBe(1 + Math.ceil((COUNT - 250) / 2_000));
  });

  test('ends when its client stops iterating, or aborts', async () => {
    endedListings = 0;
    for await (const _ of await read()) break;
    await expect.poll(() => endedListings).toBe(1);
    const abort = new AbortController();
    const aborted = async () => {
      for await (const _ of await read(abort.signal)) abort.abort();
    };
    await expect(aborted()).rejects.toThrow();
    await expect.poll(() => endedListings).toBe(2);
  });
});
