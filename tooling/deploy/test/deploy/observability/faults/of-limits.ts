import { setTimeout as sleep } from 'node:timers/promises';
import { openPersistence } from '@petstore/persistence';
import {
  createKey,
  createServerDatabase,
  forgedKey,
  importDemoOrders,
  planOf,
} from '@petstore/server/test-support/database';
import { startServer } from '@petstore/server/test-support/spawned-server';
import { PATIENCE_MS, startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import type { FaultRecordings } from '../support/fault-recordings.ts';
import { WatchedServer } from '../support/watched-server.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const BANNED_KEYS = 12;
/** So many requests get a key banned whose plan has one request a minute. */
const REQUESTS_TO_BAN = 252;
/** How long each command keeps Redis from everything else. */
const BLOCKED_SECONDS = 0.06;

/** Sends `count` requests, `atOnce` of them at a time. */
async function send(count: number, atOnce: number, request: () => Promise<Response>): Promise<void> {
  let left = count;
  const sendNext = async () => {
    while (left-- > 0) {
      await request()
        .then((response) => response.arrayBuffer())
        .catch(() => {}); // the server may have closed the connection
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendNext));
}

/** Injects the faults of limits, keys and Redis. */
export async function recordFaultsOfLimits(recordings: FaultRecordings): Promise<void> {
  await using redis = await startRedisServer({ config: { 'enable-debug-command': 'yes' } });
  await using database = await createServerDatabase();
  await importDemoOrders(database.url);
  await using started = await startServer({ DATABASE_URL: database.url, REDIS_URL: redis.url });
  await using persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  const watched = await WatchedServer.of(started.server);
  const { url } = watched;
  const busyKey = await createKey(persistence, { plan: planOf(1) });
  const healthy = await watched.observe({ busyKey });
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const get = (path: string, key: string) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } });

  const keys = await Promise.all(
    Array.from({ length: BANNED_KEYS }, () => createKey(persistence, { plan: planOf(1) })),
  );
  const bans = watched.observe({
    during: () => Promise.all(keys.map(({ text }) => send(REQUESTS_TO_BAN, 1, () => get('/v2/store/orders/1', text)))),
  });
  recordings.add('retries without a wait', { healthy, faulty: await bans });
  await recordings.follow('PetstoreBanSurge', { watched, environment, names: { W2XCWm6f: keys[0]?.id ?? '' } });

  {
    await using client = await connectTo(redis.url);
    const stop = new AbortController();
    const blocking = block(client, stop.signal);
    recordings.add('Redis blocked', { healthy, faulty: await watched.observe({ ms: 2_500 }) });
    stop.abort();
    await blocking;
    await recordings.follow('PetstoreRedisSlow', { watched, environment });
  }

  await redis.kill();
  recordings.add('Redis killed', { healthy, faulty: await watched.observe({ ms: 2_500 }) });
  await recordings.follow('PetstoreLimitsDegraded', { watched, environment });
  await redis.restart();
  await vi.waitUntil(async () => (await watched.read('petstore_limits_mode{mode="redis"}')) === 1, PATIENTLY);

  const trying = watched.observe({ during: () => send(2_000, 8, () => get('/v1/store/orders', forgedKey())) });
  recordings.add('forged keys', { healthy, faulty: await trying });
  await recordings.follow('PetstoreInvalidKeys', { watched, environment });
}

async function connectTo(url: string): Promise<Redis & AsyncDisposable> {
  const client = new Redis(url);
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.disconnect() });
}

/** Runs slow commands in Redis, one after the other. */
async function block(client: Redis, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await client.call('DEBUG', 'SLEEP', BLOCKED_SECONDS);
    await sleep(1);
  }
}
