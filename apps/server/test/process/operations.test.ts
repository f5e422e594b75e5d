import { createTestDatabase, createTestRedis, startPostgresServer, startRedisServer } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { createKey } from './support/create-key.ts';
import { ServerUnderTest, useDataFolder } from './support/server-process.ts';

const list = (url: string, key: string, init?: RequestInit) =>
  fetch(`${url}/v1/store/orders`, { ...init, headers: { authorization: `Bearer ${key}` } });

/** For what is only a matter of time. */
const PATIENTLY = { timeout: 25_000 };

/**
 * Asks again and again, though not so often that a key on the free plan would be refused.
 *
 * @returns how long it took until the answer was as wanted
 */
async function timeUntil(condition: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  await vi.waitUntil(() => condition().catch(() => false), { ...PATIENTLY, interval: 250 });
  return performance.now() - startMs;
}

describe('PostgreSQL', () => {
  test('may be away at the start: the server is alive, not ready, and migrates when it comes', async () => {
    using folder = useDataFolder();
    await using postgres = await startPostgresServer();
    await using redis = await createTestRedis();
    await postgres.stop();
    await using server = new ServerUnderTest(folder.path, { DATABASE_URL: postgres.url, REDIS_URL: redis.url });
    const adminUrl = await server.adminUrl();
    expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
    await server.said(/PostgreSQL is away/);
    expect(await server.readiness()).toMatchObject({ status: 503, report: { postgres: 'down' } });
    expect(server.stdout).not.toContain('listening on');
    await postgres.restart();
    expect(await timeUntil(async () => (await server.readiness()).status === 200)).toBeLessThan(10_000);
    const { text } = await createKey(postgres.url);
    expect((await list(await server.url(), text)).status).toBe(200);
  });

  test('may go and come back while serving', async () => {
    using folder = useDataFolder();
    await using postgres = await startPostgresServer();
    await using redis = await createTestRedis();
    const { text } = await createKey(postgres.url);
    const { text: unknown } = await createKey(postgres.url);
    await using server = new ServerUnderTest(folder.path, { DATABASE_URL: postgres.url, REDIS_URL: redis.url });
    const url = await server.url();
    expect((await list(url, text)).status).toBe(200);
    await postgres.kill();
    expect(await timeUntil(async () => (await server.readiness()).status === 503)).toBeLessThan(10_000);
    for (const key of [text, unknown]) {
      const answer = await list(url, key);
      expect(answer.status, server.stdout).toBe(503);
      expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect((await fetch(`${await server.adminUrl()}/livez`)).status).toBe(200);
    await postgres.restart();
    expect(await timeUntil(async () => (await list(url, text)).status === 200)).toBeLessThan(10_000);
    await vi.waitFor(
      async () => expect(await server.readiness()).toMatchObject({ status: 200, report: { problems: [] } }),
      PATIENTLY,
    );
  });

  test('that hangs makes the server not ready, and not hang', async () => {
    using folder = useDataFolder();
    await using postgres = await startPostgresServer();
    await using redis = await createTestRedis();
    const { text } = await createKey(postgres.url);
    await using server = new ServerUnderTest(folder.path, { DATABASE_URL: postgres.url, REDIS_URL: redis.url });
    const url = await server.url();
    expect((await list(url, text)).status).toBe(200);
    postgres.pause();
    expect(await timeUntil(async () => (await server.readiness()).status === 503)).toBeLessThan(10_000);
    expect((await fetch(`${await server.adminUrl()}/livez`)).status).toBe(200);
    expect((await list(url, text, { signal: AbortSignal.timeout(20_000) })).status).toBe(503);
    postgres.resume();
    expect(await timeUntil(async () => (await server.readiness()).status === 200)).toBeLessThan(10_000);
    expect((await list(url, text)).status).toBe(200);
  });
});

describe('Redis', () => {
  test('may be away at the start: the server is ready, says that it is degraded, and is not when Redis comes', async () => {
    using folder = useDataFolder();
    await using database = await createTestDatabase();
    await using redis = await startRedisServer();
    await redis.stop();
    const { text } = await createKey(database.url);
    await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
    const answer = await list(await server.url(), text);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('60');
    await vi.waitFor(
      async () =>
        expect(await server.readiness()).toEqual({
          status: 200,
          report: {
            status: 'ready',
            problems: ['Redis is away: limits are counted in this process'],
            postgres: 'up',
            limits: 'degraded',
          },
        }),
      PATIENTLY,
    );
    await redis.restart();
    const isBack = async () => {
      await list(await server.url(), text);
      return (await server.readiness()).report['limits'] === 'redis';
    };
    expect(await timeUntil(isBack)).toBeLessThan(10_000);
  });

  test('may go and come back while serving, and no request fails or waits for it', async () => {
    using folder = useDataFolder();
    await using database = await createTestDatabase();
    await using redis = await startRedisServer();
    const { text } = await createKey(database.url);
    await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
    const url = await server.url();
    expect((await list(url, text)).status).toBe(200);
    await redis.kill();
    for (let i = 0; i < 10; i++) {
      const startMs = performance.now();
      expect((await list(url, text)).status).toBe(200);
      expect(performance.now() - startMs).toBeLessThan(3_000);
    }
    expect(await server.readiness()).toMatchObject({ status: 200, report: { limits: 'degraded' } });
    await redis.restart();
    const isBack = async () => {
      await list(url, text);
      return (await server.readiness()).report['limits'] === 'redis';
    };
    expect(await timeUntil(isBack)).toBeLessThan(10_000);
    await server.said(/Redis is back/);
    // Each change is told once, however many requests notice it.
    expect(server.stdout.match(/(?<=Redis is )(?:away|back)/g)?.join()).toMatch(/^away,back(?:,away,back)*$/);
  });
});

test('a stop is announced first; what was sent is answered; then the port closes', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const { text } = await createKey(database.url);
  await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
  const url = await server.url();
  expect((await list(url, text)).status).toBe(200);
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  await blocker.query('BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
  const pending = list(url, text);
  await vi.waitUntil(async () => {
    await blocker.query('SELECT pg_stat_clear_snapshot()'); // a transaction goes on seeing what it saw first
    const { rows } = await blocker.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return rows.length > 0;
  }, PATIENTLY);
  server.process.kill('SIGTERM');
  await vi.waitFor(async () => expect(await server.readiness()).toMatchObject({ status: 503 }), PATIENTLY);
  expect((await server.readiness()).report['problems']).toContain('the server is stopping');
  server.process.kill('SIGINT'); // and a second signal changes nothing
  await blocker.query('ROLLBACK');
  await blocker.end();
  expect((await pending).status).toBe(200);
  expect(await server.exited).toMatchObject({ code: 0 });
  await expect(list(url, text)).rejects.toThrow();
});

test('metrics tell of requests by operation, and of what the server leans on', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const { id, text } = await createKey(database.url);
  await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
  const url = await server.url();
  await vi.waitUntil(async () => (await server.readiness()).report['limits'] === 'redis', PATIENTLY);
  await list(url, text);
  await fetch(`${url}/v1/store/orders`);
  await fetch(`${url}/v1/pets/404`, { headers: { authorization: `Bearer ${text}` } });
  const response = await fetch(`${await server.adminUrl()}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const metrics = await response.text();
  expect(metrics).toMatch(/^petstore_http_request_duration_seconds_count\{operation="listOrders",status="200"\} 1$/m);
  expect(metrics).toMatch(/^petstore_http_request_duration_seconds_count\{operation="listOrders",status="401"\} 1$/m);
  expect(metrics).toMatch(/_bucket\{le="\+Inf",operation="listOrders",status="200"\} 1$/m);
  expect(metrics).toContain(`\npetstore_deprecated_requests_total{operation="getPetById",key="${id}"} 1\n`);
  expect(metrics).not.toContain(text);
  expect(metrics).toMatch(/^petstore_postgres_up 1$/m);
  expect(metrics).toMatch(/^petstore_limits_mode\{mode="redis"\} 1$/m);
  for (const path of ['/livez', '/readyz', '/metrics']) expect((await fetch(url + path)).status).toBe(404);
});

test('metrics hold what prom-client knows of every process, from the second scrape on all of it', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
  await server.url();
  const adminUrl = await server.adminUrl();
  const scrape = async () => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    return new Map([...text.matchAll(/^([a-z]\S*) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]));
  };
  const first = await scrape();
  expect(first.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  expect(first.get('process_cpu_seconds_total')).toBeGreaterThanOrEqual(0);
  await vi.waitFor(async () => {
    const samples = await scrape();
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(first.get('process_cpu_seconds_total') ?? 0);
    expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeLessThan(60);
  }, PATIENTLY);
});

test('the admin listener knows three paths, and only reads', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
  await server.url();
  const adminUrl = await server.adminUrl();
  expect((await fetch(`${adminUrl}/livez`, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${adminUrl}/readyz?verbose`)).status).toBe(200);
  expect((await fetch(`${adminUrl}/`)).status).toBe(404);
  const post = await fetch(`${adminUrl}/readyz`, { method: 'POST', body: 'x' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('no key and no password comes into the log, wherever a caller put it', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const { text } = await createKey(database.url);
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'trace' };
  await using server = new ServerUnderTest(folder.path, environment);
  const url = await server.url();
  await list(url, text);
  const headers = { authorization: `Bearer ${text}`, 'x-request-id': text };
  await fetch(`${url}/v1/store/orders/${text}?key=${text}`, { method: 'DELETE', headers });
  await fetch(`${url}/trpc/orders.list?input=${text}`, { headers: { authorization: 'Basic c2VjcmV0OnNlY3JldA==' } });
  await fetch(`${url}/${text}`);
  await server.stop();
  const output = server.stdout + server.stderr;
  expect(output).toContain('request answered');
  expect(output).not.toContain(text.slice(-20));
  expect(output).not.toContain('c2VjcmV0');
  expect(output).not.toContain(new URL(database.url).password);
});

test('with a database of others every line of the log is JSON, the one that says where it listens too', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  await using server = new ServerUnderTest(folder.path, { DATABASE_URL: database.url, REDIS_URL: redis.url });
  const url = await server.url();
  await server.stop();
  const lines = server.stdout
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
  expect(lines).toContainEqual(expect.objectContaining({ level: 'info', msg: `listening on ${url}` }));
  expect(server.stderr).toBe('');
});

test('where it listens is said however quiet the log is', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
  await using server = new ServerUnderTest(folder.path, environment);
  expect((await fetch(`${await server.url()}/v1/store/orders`)).status).toBe(401);
  expect(await server.stop()).toMatchObject({ code: 0 });
  expect(server.stdout.trim().split('\n'), 'that line alone').toHaveLength(1);
});

test('a reader of the output that goes away is no reason to end', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'trace' };
  await using server = new ServerUnderTest(folder.path, environment);
  const url = await server.url();
  const adminUrl = await server.adminUrl();
  server.process.stdout?.destroy();
  server.process.stderr?.destroy();
  for (let i = 0; i < 5; i++) expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
  expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
  expect(await server.stop()).toMatchObject({ code: 0 });
});
