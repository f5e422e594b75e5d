import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTemporaryFolder, createTestDatabase, createTestRedis } from '@petstore/testing';
import { expect, test } from 'vitest';
import { createKey, importPets } from '../support/database.ts';
import { SpawnedServer } from '../support/spawned-server.ts';
import { createMemorySocket } from './support/memory-socket.ts';
import { type KnownKeys, oddRequests } from './support/odd-requests.ts';
import { type Outcome, sendAll } from './support/send.ts';

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

/** Starts the server as in production, with a Unix socket that reports its memory. */
async function startServer(resources: AsyncDisposableStack) {
  const { path: folder } = resources.use(createTemporaryFolder());
  const { url: databaseUrl } = resources.use(await createTestDatabase());
  const { url: redisUrl } = resources.use(await createTestRedis());
  const { environment, readMemory } = createMemorySocket(folder);
  const server = resources.use(
    new SpawnedServer(join(folder, 'data'), {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      TRUST_PROXY: '1',
      CORS_ORIGINS: 'https://shop.example',
      LOG_LEVEL: 'error',
      ...environment,
    }),
  );
  const url = await server.url();
  return { server, url, databaseUrl, readMemory };
}

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
  await using resources = new AsyncDisposableStack();
  const { server, url, databaseUrl, readMemory } = await startServer(resources);
  const persistence = resources.use(openPersistence({ databaseUrl }));
  await persistence.orders.generateOrders({ count: ORDERS, seed: 1, now: new Date() });
  await importPets(persistence, [{ id: 1n, name: 'Ada' }]);
  const keys = await createKeys(persistence);
  const port = Number(new URL(url).port);
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
