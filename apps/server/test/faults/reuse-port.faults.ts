import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { openPersistence } from '@petstore/persistence';
import { RuntimeError } from '@petstore/runtime';
import { createTestRedis, PATIENCE_MS, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { listenOn } from '../../src/operations/listen.ts';
import { createKey, createServerDatabase, KEYS } from '../support/database.ts';
import { isRunning, SpawnedServer, useDataFolder } from '../support/spawned-server.ts';

/** Where Redis takes longer, a server counts by itself, and the sum is no longer exact. */
const REDIS_PATIENCE_MS = 100;

/** Starts a server that shares its port. @param port 0 takes a free one, which others can then share */
const startSharing = (dataFolder: string, environment: Record<string, string>, port = '0') =>
  new SpawnedServer(dataFolder, { ...environment, PORT: port, ADMIN_PORT: '0', REUSE_PORT: 'on' });

const portOf = async (server: SpawnedServer): Promise<string> => new URL(await server.url()).port;

/**
 * Lists the orders on a connection of its own.
 *
 * A connection that is reset before any response is tried once more, as proxies do: the kernel may deal one out to a server
 * in the microseconds between the last look at its port and closing it.
 */
async function list(url: string, key: string, mayRetry = true): Promise<IncomingMessage> {
  const request = get(`${url}/v1/store/orders`, { agent: false, headers: { authorization: `Bearer ${key}` } });
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // as documented
    return response;
  } catch (error) {
    if (mayRetry && error instanceof Error && 'code' in error && error.code === 'ECONNRESET') {
      return list(url, key, false);
    }
    throw error;
  }
}

async function statusOf(url: string, key: string): Promise<number | undefined> {
  const response = await list(url, key);
  response.resume();
  return response.statusCode;
}

/** How many listings a server has served, by its own metrics. */
async function listingsServed(server: SpawnedServer): Promise<number> {
  const metrics = await (await fetch(`${await server.adminUrl()}/metrics`)).text();
  const counts = metrics.matchAll(
    /^petstore_http_request_duration_seconds_count\{operation="listOrders",.*\} (\d+)$/gm,
  );
  return Array.from(counts, ([, count]) => Number(count)).reduce((a, b) => a + b, 0);
}

describe('with REUSE_PORT=on', () => {
  test('two servers share a port and exact limits, and one can end without a request lost', async () => {
    using folder = useDataFolder();
    await using database = await createServerDatabase();
    await using redis = await createTestRedis();
    const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    await using persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
    const { text: key } = KEYS.unlimited;
    await using first = startSharing(folder.path, environment);
    const port = await portOf(first);
    await using second = startSharing(folder.path, environment, port);
    const url = await second.url();
    expect(url).toBe(await first.url());
    expect(await second.adminUrl()).not.toBe(await first.adminUrl());
    // Which server gets a connection is up to the kernel: until both had some.
    let sent = 0;
    await vi.waitUntil(async () => {
      expect(await statusOf(url, key)).toBe(200);
      sent++;
      return (await listingsServed(first)) > 0 && (await listingsServed(second)) > 0;
    }, PATIENTLY);
    expect((await listingsServed(first)) + (await listingsServed(second))).toBe(sent);
    for (let slowestMs = Number.POSITIVE_INFINITY; slowestMs >= REDIS_PATIENCE_MS; ) {
      const { text: free } = await createKey(persistence, { plan: { name: 'free' } });
      const statuses: (number | undefined)[] = [];
      slowestMs = 0;
      for (let i = 0; i < 61; i++) {
        const startMs = performance.now();
        statuses.push(await statusOf(url, free));
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
      }
      if (slowestMs < REDIS_PATIENCE_MS) expect(statuses).toEqual([...Array(60).fill(200), 429]);
    }

    // Calls that wait for the database when the first server is stopped, and others all the while.
    const blocker = new pg.Client({ connectionString: database.url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
    const pending = Array.from({ length: 8 }, () => list(url, key));
    await vi.waitUntil(async () => {
      await blocker.query('SELECT pg_stat_clear_snapshot()'); // within a transaction statistics are cached
      const { rows } = await blocker.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length > 0;
    }, PATIENTLY);
    first.process.kill('SIGTERM');
    await vi.waitFor(async () => expect(await first.readiness()).toMatchObject({ status: 503 }), PATIENTLY);
    await blocker.query('ROLLBACK');
    await blocker.end();
    for (const response of await Promise.all(pending)) {
      expect(response.statusCode).toBe(200);
      expect(JSON.parse(await readText(response))).toEqual([]);
    }
    let hasEnded = false;
    const ended = first.exited.then((exit) => {
      hasEnded = true;
      return exit;
    });
    while (!hasEnded) expect(await statusOf(url, key)).toBe(200);
    expect(await ended).toMatchObject({ code: 0 });
    const before = await listingsServed(second);
    for (let i = 0; i < 20; i++) expect(await statusOf(url, key)).toBe(200);
    expect(await listingsServed(second)).toBe(before + 20);
  });

  test('two servers share the embedded database of one data folder, made by both at once', async () => {
    using folder = useDataFolder();
    await using redis = await createTestRedis();
    await using first = startSharing(folder.path, { REDIS_URL: redis.url });
    await using second = startSharing(folder.path, { REDIS_URL: redis.url });
    const urls = await Promise.all([first.url(), second.url()]);
    const keys = await first.demoKeys();
    expect(await second.demoKeys()).toEqual(keys);
    const key = keys.get('free') ?? '';
    for (const url of urls) expect(JSON.parse(await readText(await list(url, key)))).toHaveLength(20);
    const servers = first.children();
    expect(servers, 'one PostgreSQL').toHaveLength(1);
    expect(await first.stop()).toMatchObject({ code: 0 });
    expect(servers.filter(isRunning), 'while the second uses them').toEqual(servers);
    expect(await statusOf(urls[1] ?? '', key)).toBe(200);
    expect(await second.stop()).toMatchObject({ code: 0 });
    expect(second.children()).toEqual([]);
    expect(existsSync(join(folder.path, 'postgres', 'postmaster.pid'))).toBe(false);
  });
});

test('a system that cannot share ports is named in one line', async () => {
  const error = Object.assign(new Error('listen ENOTSUP: operation not supported on socket'), { code: 'ENOTSUP' });
  const app = { listen: () => Promise.reject(error) };
  const listening = listenOn(app, { host: '127.0.0.1', port: 3000, reusePort: true, setting: 'PORT' });
  await expect(listening).rejects.toThrow(RuntimeError);
  await expect(listening).rejects.toThrow(/REUSE_PORT is on, but this system .* Set it to off\.$/);
});
