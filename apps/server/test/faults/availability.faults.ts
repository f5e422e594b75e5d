import { setTimeout as sleep } from 'node:timers/promises';
import {
  createTestDatabase,
  openMovingAddress,
  PATIENTLY,
  REPLICATION_PARAMETERS,
  startPgBouncer,
  startPostgresServer,
  startPostgresStandby,
  startRedisServer,
} from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { importDemoOrders, KEYS, prepareServerDatabase } from '../support/database.ts';
import { type SpawnedServer, startServer } from '../support/spawned-server.ts';
import { allowedMs } from './support/allowed-time.ts';

const list = (url: string, key: string, init?: RequestInit) =>
  fetch(`${url}/v1/store/orders`, { ...init, headers: { authorization: `Bearer ${key}` } });
/**
 * Polls a condition, though not so often that a key on the free plan would exceed its limit.
 *
 * @returns how long it took, in milliseconds
 */
async function timeUntil(condition: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  await vi.waitUntil(() => condition().catch(() => false), { ...PATIENTLY, interval: 250 });
  return performance.now() - startMs;
}

// The tests of a group share a server: each leaves it with all that it needs available.

describe('PostgreSQL', () => {
  const resources = new AsyncDisposableStack();
  let postgres: Awaited<ReturnType<typeof startPostgresServer>>;
  let server: SpawnedServer;
  beforeAll(async () => {
    postgres = resources.use(await startPostgresServer());
    await postgres.stop();
    ({ server } = resources.use(await startServer({ DATABASE_URL: postgres.url })));
  });
  afterAll(() => resources.disposeAsync());

  test('may be unavailable at the start: the server is alive, not ready, and migrates when it is available', async () => {
    const adminUrl = await server.adminUrl();
    expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
    await server.said(/PostgreSQL is unavailable/);
    expect(await server.readiness()).toMatchObject({ status: 503, report: { postgres: 'down' } });
    expect(server.stdout).not.toContain('listening on');
    await postgres.restart();
    expect(await timeUntil(async () => (await server.readiness()).status === 200)).toBeLessThan(allowedMs(5));
    await prepareServerDatabase(postgres.url);
    expect((await list(await server.url(), KEYS.free.text)).status).toBe(200);
  });

  test('may become unavailable and available again', async () => {
    const url = await server.url();
    expect((await list(url, KEYS.free.text)).status).toBe(200);
    await postgres.kill();
    expect(await timeUntil(async () => (await server.readiness()).status === 503)).toBeLessThan(allowedMs(4));
    // The server has cached the first key, and not the second.
    for (const { text } of [KEYS.free, KEYS.internal]) {
      const startMs = performance.now();
      const response = await list(url, text);
      expect(performance.now() - startMs).toBeLessThan(allowedMs(3));
      expect(response.status, server.stdout).toBe(503);
      expect(await response.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect((await fetch(`${await server.adminUrl()}/livez`)).status).toBe(200);
    await postgres.restart();
    const isBack = async () =>
      (await list(url, KEYS.free.text)).status === 200 && (await server.readiness()).status === 200;
    expect(await timeUntil(isBack)).toBeLessThan(allowedMs(2));
    expect((await server.readiness()).report['problems']).toEqual([]);
  });

  test('may become read-only: requests are refused, and the server is not ready', async () => {
    const url = await server.url();
    const { text } = KEYS.unlimited;
    const request = async (path: string, method: string) =>
      (await fetch(`${url}/v1/store/orders${path}`, { method, headers: { authorization: `Bearer ${text}` } })).status;
    await changeDatabase(postgres.url, 'alter database postgres set default_transaction_read_only = on');
    await vi.waitFor(async () => expect(await readOnlyReport(server)).toMatch(/^PostgreSQL is read-only/), PATIENTLY);
    const samples = await server.metrics();
    expect([samples.get('petstore_postgres_up'), samples.get('petstore_ready')]).toEqual([1, 0]);
    expect(await request('', 'GET')).toBe(503);
    expect(await request('/1', 'DELETE')).toBe(503);
    await changeDatabase(postgres.url, 'alter database postgres reset default_transaction_read_only');
    await vi.waitFor(async () => expect((await server.readiness()).status).toBe(200), PATIENTLY);
    await vi.waitFor(async () => expect(await request('/1', 'DELETE')).toBe(404), PATIENTLY);
  });

  test('may be read-only at the start: the server says that it listens when orders can be changed', async () => {
    await changeDatabase(postgres.url, 'alter database postgres set default_transaction_read_only = on');
    await using started = await startServer({ DATABASE_URL: postgres.url });
    const readOnly = { status: 503, report: { postgres: 'read-only' } };
    await vi.waitFor(async () => expect(await started.server.readiness()).toMatchObject(readOnly), PATIENTLY);
    await sleep(1_000); // in which it would say so
    expect(started.server.stdout).not.toContain('listening on');
    await changeDatabase(postgres.url, 'alter database postgres reset default_transaction_read_only');
    expect((await list(await started.server.url(), KEYS.free.text)).status).toBe(200);
    expect(await started.server.readiness()).toMatchObject({ status: 200, report: { problems: [] } });
  });

  test('that refuses the password is named as the reason, without it', async () => {
    const url = new URL(postgres.url);
    url.password = 'a-wrong-password';
    await using started = await startServer({ DATABASE_URL: url.href });
    await vi.waitFor(
      async () =>
        expect(await started.server.readiness()).toEqual({
          status: 503,
          report: {
            status: 'not ready',
            problems: ['the server is starting', 'PostgreSQL rejects the login (wrong password)'],
            postgres: 'down',
            limits: 'redis',
          },
        }),
      PATIENTLY,
    );
  });
});

async function readOnlyReport(server: SpawnedServer): Promise<string> {
  const { status, report } = await server.readiness();
  return status === 503 && report['postgres'] === 'read-only' ? String(report['problems']) : 'ready';
}

/** Changes a setting for new sessions, and ends those that there are. */
async function changeDatabase(databaseUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query('begin read write');
  await client.query(statement);
  await client.query('commit');
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
  );
  await client.end();
}

describe('Redis', () => {
  const resources = new AsyncDisposableStack();
  let redis: Awaited<ReturnType<typeof startRedisServer>>;
  let server: SpawnedServer;
  beforeAll(async () => {
    redis = resources.use(await startRedisServer());
    await redis.stop();
    ({ server } = resources.use(await startServer({ REDIS_URL: redis.url })));
  });
  afterAll(() => resources.disposeAsync());

  /** How long it takes until limits are counted in Redis again, in milliseconds. */
  const timeUntilBack = (key: string) =>
    timeUntil(async () => {
      await list(await server.url(), key);
      return (await server.readiness()).report['limits'] === 'redis';
    });

  test('may be unavailable at the start: the server is ready and degraded, until Redis is available', async () => {
    const { text } = KEYS.free;
    const response = await list(await server.url(), text);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('60');
    await vi.waitFor(
      async () =>
        expect(await server.readiness()).toEqual({
          status: 200,
          report: {
            status: 'ready',
            problems: [
              expect.stringMatching(
                /^Redis is unavailable \(connect ECONNREFUSED .*\): limits are counted in this process$/,
              ),
            ],
            postgres: 'up',
            limits: 'degraded',
          },
        }),
      PATIENTLY,
    );
    await redis.restart();
    expect(await timeUntilBack(text)).toBeLessThan(allowedMs(2));
  });

  test('may become unavailable and available again, and no request fails or waits for it', async () => {
    const { text } = KEYS.unlimited;
    const url = await server.url();
    expect((await list(url, text)).status).toBe(200);
    await server.said(/Redis is available again/);
    const loggedBefore = server.stdout.length;
    await redis.kill();
    for (let i = 0; i < 10; i++) {
      const startMs = performance.now();
      expect((await list(url, text)).status).toBe(200);
      expect(performance.now() - startMs).toBeLessThan(allowedMs(0.125));
    }
    await vi.waitFor(
      async () => expect(await server.readiness()).toMatchObject({ status: 200, report: { limits: 'degraded' } }),
      PATIENTLY,
    );
    await redis.restart();
    expect(await timeUntilBack(text)).toBeLessThan(allowedMs(2));
    const logged = () => server.stdout.slice(loggedBefore);
    await vi.waitUntil(() => logged().includes('Redis is available again'), PATIENTLY);
    // Each change is logged once, however many requests notice it.
    expect(
      logged()
        .match(/(?<=Redis is )(?:unavailable|available again)/g)
        ?.join(),
    ).toMatch(/^unavailable,available again(?:,unavailable,available again)*$/);
  });
});

const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };

test('a server goes on after a failover that moves the address of PostgreSQL, and is not ready until the promotion', async () => {
  await using primary = await startPostgresServer(REPLICATION_PARAMETERS);
  await prepareServerDatabase(primary.url);
  await importDemoOrders(primary.url);
  await using standby = await startPostgresStandby(primary, { synchronous: true });
  await using address = await openMovingAddress(primary.url);
  await using started = await startServer({ DATABASE_URL: address.url });
  const { server } = started;
  const url = await server.url();
  const cancel = (id: number) =>
    fetch(`${url}/v1/store/orders/${id}`, { method: 'DELETE', headers }).then(({ status }) => status);
  const readiness = () => server.readiness().then(({ status, report }) => [status, report['postgres']]);
  expect(await readiness()).toEqual([200, 'up']);
  expect(server.stdout).toContain(`PostgreSQL at ${new URL(address.url).host}/postgres`);

  await primary.kill();
  address.moveTo(standby.url);
  await expect.poll(readiness, PATIENTLY).toEqual([503, 'read-only']);
  expect(await cancel(1)).toBe(503);
  await standby.promote();
  expect(await timeUntil(async () => (await readiness())[0] === 200)).toBeLessThan(allowedMs(5));
  expect(await cancel(1)).not.toBe(503);
});

test('a server behind a pooler in transaction mode never becomes ready, and says why', async () => {
  await using database = await createTestDatabase();
  await using pooler = await startPgBouncer(database.url, { poolMode: 'transaction' });
  await using started = await startServer({ DATABASE_URL: pooler.url });
  const { server } = started;
  await server.said(/PostgreSQL is unavailable/);
  for (let look = 0; look < 20; look++) {
    const { status, report } = await server.readiness();
    expect(status).toBe(503);
    expect(JSON.stringify(report['problems'])).toContain('pooler in transaction mode');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(server.stdout).not.toContain('listening on');
});

/** How often the process is suspended, and for how long: longer than it waits for Redis and for a ping of PostgreSQL. */
const SUSPENSIONS = 3;
const SUSPENDED_MS = 2_500;

test('a server that is suspended under load fails no request, and uses PostgreSQL and Redis at once', async () => {
  await using started = await startServer();
  await importDemoOrders(started.databaseUrl);
  const { server } = started;
  const url = await server.url();
  const statuses = new Map<number, number>();
  let isOver = false;
  const callers = Array.from({ length: 20 }, async () => {
    while (!isOver) {
      const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
      const response = await fetch(`${url}/v1/store/orders`, { headers });
      await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      await sleep(20);
    }
  });
  for (let i = 0; i < SUSPENSIONS; i++) {
    await sleep(1_000);
    process.kill(server.pid, 'SIGSTOP');
    await sleep(SUSPENDED_MS);
    process.kill(server.pid, 'SIGCONT');
  }
  await sleep(1_000);
  isOver = true;
  await Promise.all(callers);
  expect([...statuses.keys()]).toEqual([200]);
  expect(server.logLines('PostgreSQL is unavailable; waiting for it')).toEqual([]);
  const ready = { problems: [], postgres: 'up', limits: 'redis' };
  await expect.poll(async () => (await server.readiness()).report, { timeout: 10_000 }).toMatchObject(ready);
});
