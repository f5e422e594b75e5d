import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { readCommit } from '@petstore/runtime';
import { createTemporaryFolder, findExecutable, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { composeServer } from '../support/composed-server.ts';
import { KEYS } from '../support/database.ts';
import { listingModulesTo, type SpawnedServer, type StartedServer, startServer } from '../support/spawned-server.ts';

const list = (url: string, key: string, init?: RequestInit) =>
  fetch(`${url}/v1/store/orders`, { ...init, headers: { authorization: `Bearer ${key}` } });

const prlimit = findExecutable('prlimit') ?? expect.fail('prlimit, of util-linux, is needed.');

// All groups share a server, which the last one ends.
let started: StartedServer;
let server: SpawnedServer;
const folder = createTemporaryFolder();
const modules = join(folder.path, 'modules');
beforeAll(async () => {
  started = await startServer({
    LOG_LEVEL: 'trace', // so that requests after its output is closed still write to it
    OTEL_TRACES_EXPORTER: 'none',
    ...listingModulesTo(modules),
  });
  server = started.server;
  // Long before the server reads it, which waits for PostgreSQL.
  execFileSync(prlimit, ['--pid', `${server.pid}`, '--nofile=300:300']);
});
afterAll(async () => {
  await started[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test('MikroORM is loaded after the start, before a request needs it, and nothing of pages, of schemas of routes, or of traces', async () => {
  await fetch(`${await server.url()}/v1/pets/1`);
  await server.metrics();
  await vi.waitFor(() => expect(readFileSync(modules, 'utf8')).toContain('@mikro-orm/postgresql'), PATIENTLY);
  const loaded = readFileSync(modules, 'utf8').split('\n');
  expect(loaded.some((url) => url.endsWith('/http/app.ts'))).toBe(true);
  const ofOrm = loaded.findIndex((url) => url.includes('/@mikro-orm/'));
  expect(loaded.slice(ofOrm).filter((url) => url.includes('/apps/server/src/'))).toEqual([]);
  // Neither what pages are rendered with, nor what would compile schemas for Fastify.
  expect(loaded.filter((url) => /\/(?:highlight\.js|marked|ajv)@/.test(url))).toEqual([]);
  // prom-client loads the API of OpenTelemetry, which is nothing without an SDK.
  expect(loaded.filter((url) => /opentelemetry\+(?!api@)|start-tracing/.test(url))).toEqual([]);
});

describe('health and metrics', () => {
  test('include the metrics of the process, all of them from the second scrape on', async () => {
    await server.url();
    const first = await server.metrics();
    expect(first.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(first.get('process_cpu_seconds_total')).toBeGreaterThanOrEqual(0);
    await vi.waitFor(async () => {
      const samples = await server.metrics();
      expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(first.get('process_cpu_seconds_total') ?? 0);
      expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
      expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeLessThan(60);
    }, PATIENTLY);
  });

  test('count requests by operation, and show whether PostgreSQL and Redis are available', async () => {
    const { id, text } = KEYS.free;
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

  test('show the build, what is in flight, and how long PostgreSQL takes', async () => {
    const url = await server.url();
    await list(url, KEYS.free.text);
    const samples = await server.metrics();
    const { node } = process.versions;
    expect([...samples.keys()]).toContainEqual(
      expect.stringMatching(
        `^petstore_build_info\\{version="\\d+\\.\\d+\\.\\d+",commit="${readCommit() ?? ''}",node="${node}"\\}$`,
      ),
    );
    expect(samples.get('petstore_http_connections')).toBeGreaterThan(0);
    expect(samples.get('petstore_http_requests_in_flight')).toBe(0);
    expect(samples.get('petstore_http_long_lists')).toBe(0);
    expect(samples.get('petstore_postgres_connections')).toBeGreaterThan(0);
    expect(samples.get('petstore_postgres_statement_duration_seconds_count{purpose="requests"}')).toBeGreaterThan(0);
    // That the key was used may still be on its way to be written.
    const inFlight = 'petstore_postgres_statements_in_flight{purpose="writes"}';
    await vi.waitUntil(async () => (await server.metrics()).get(inFlight) === 0, { timeout: 10_000 });
  });

  test('show whether it serves, how much memory it may take, and when what is deprecated ends', async () => {
    await server.url();
    const samples = await server.metrics();
    expect(samples.get('petstore_ready')).toBe(1);
    expect(samples.get('petstore_heap_limit_bytes')).toBeGreaterThan(
      samples.get('nodejs_heap_size_used_bytes') ?? Number.NaN,
    );
    for (const operation of ['getPetById', 'pets.get']) {
      const sunset = `petstore_deprecated_operation_sunset_timestamp_seconds{operation="${operation}"}`;
      expect(samples.get(sunset)).toBe(Date.parse('2999-12-31') / 1_000);
    }
  });

  test('have a series for each failure before there is one, so that the first is seen to rise', async () => {
    await server.url();
    const samples = await server.metrics();
    for (const operation of ['listOrders', 'cancelOrder', 'orders.place']) {
      for (const status of [500, 503]) {
        const labels = `operation="${operation}",status="${status}"`;
        expect(samples.get(`petstore_http_request_duration_seconds_count{${labels}}`), labels).toBe(0);
      }
    }
    const errors = 'petstore_http_errors_total';
    expect(samples.get(`${errors}{code="overloaded"}`)).toBe(0);
    const before = samples.get(`${errors}{code="missing_api_key"}`) ?? Number.NaN;
    await fetch(`${await server.url()}/v1/store/orders`);
    expect((await server.metrics()).get(`${errors}{code="missing_api_key"}`)).toBe(before + 1);
    expect(samples.get('petstore_http_responses_cut_total{reason="slow_reader"}')).toBe(0);
  });

  test('are three paths of the admin listener, which allow GET and HEAD only', async () => {
    await server.url();
    const adminUrl = await server.adminUrl();
    expect((await fetch(`${adminUrl}/livez`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${adminUrl}/readyz?verbose`)).status).toBe(200);
    expect((await fetch(`${adminUrl}/`)).status).toBe(404);
    const post = await fetch(`${adminUrl}/readyz`, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the log', () => {
  const { text } = KEYS.free;
  beforeAll(async () => {
    const url = await server.url();
    const completed = () => server.logLines('request completed').length;
    const before = completed();
    await list(url, text);
    const headers = { authorization: `Bearer ${text}`, 'x-request-id': text };
    await fetch(`${url}/v1/store/orders/${text}?key=${text}`, { method: 'DELETE', headers });
    await fetch(`${url}/trpc/orders.list?input=${text}`, { headers: { authorization: 'Basic c2VjcmV0OnNlY3JldA==' } });
    await fetch(`${url}/${text}`);
    await vi.waitUntil(() => completed() === before + 4, PATIENTLY);
  });

  test('contains no key and no password, wherever a caller put it', () => {
    const output = server.stdout + server.stderr;
    expect(output).not.toContain(text.slice(-20));
    expect(output).not.toContain('c2VjcmV0');
    expect(output).not.toContain(new URL(started.databaseUrl).password);
  });

  test('is JSON in every line where the database is not embedded, the line that says where it listens included', async () => {
    const lines = server.stdout.trim().split('\n');
    expect(lines.map((line): Record<string, unknown> => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 'info', msg: `listening on ${await server.url()}` }),
    );
    expect(server.stderr).toBe('');
  });

  test('names the address even when it is silent', async () => {
    await using silent = await composeServer({ LOG_LEVEL: 'silent' });
    expect((await fetch(`${await silent.server.url()}/v1/store/orders`)).status).toBe(401);
    await silent.server.stop();
    expect(silent.server.stdout.trim().split('\n'), 'that line alone').toHaveLength(1);
  });
});

describe('a server', () => {
  test('with few open files says so, has its health reached, and recovers', async () => {
    const url = new URL(await server.url());
    const sockets = Array.from({ length: 400 }, () => {
      const socket = connect(Number(url.port), url.hostname).on('error', () => {}); // one too many
      return { socket, closed: once(socket, 'close') };
    });
    await server.said(/"open":200,"msg":"connections could not be accepted: .* open files/);
    expect((await fetch(`${await server.adminUrl()}/livez`)).status).toBe(200);
    expect((await server.metrics()).get('petstore_http_connections')).toBe(200);
    for (const { socket } of sockets) socket.destroy();
    await Promise.all(sockets.map(({ closed }) => closed));
    await vi.waitFor(async () => expect((await fetch(url)).ok).toBe(true), PATIENTLY);
  });

  test('goes on when its output streams are closed', async () => {
    const url = await server.url();
    const adminUrl = await server.adminUrl();
    server.process.stdout?.destroy();
    server.process.stderr?.destroy();
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
    expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
  });

  test('announces its stop first, finishes requests in progress, and then closes its port', async () => {
    const { text } = KEYS.free;
    const url = await server.url();
    expect((await list(url, text)).status).toBe(200);
    const blocker = new pg.Client({ connectionString: started.databaseUrl });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
    const pending = list(url, text);
    await vi.waitUntil(async () => {
      await blocker.query('SELECT pg_stat_clear_snapshot()'); // within a transaction statistics are cached
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
});
