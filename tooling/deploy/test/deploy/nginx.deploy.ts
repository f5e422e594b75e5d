import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createPetstoreClient } from '@petstore/client';
import {
  createTemporaryFolder,
  createTestDatabase,
  createTestRedis,
  findFreePort,
  SELF_SIGNED,
} from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { useBuiltFolder } from '../support/built-folder.ts';
import { startNginx } from '../support/nginx.ts';
import { Program } from '../support/program.ts';

interface RunningServer {
  readonly port: number;
  program: Program;
}

const ORDERS = 100_000;

const built = useBuiltFolder();
const temporary = createTemporaryFolder();
const resources = new AsyncDisposableStack();
let environment: Record<string, string>;
let servers: RunningServer[];
let nginx: Program;
/** Where nginx listens. */
let url: string;
/** Enterprise, and internal. */
let key: string;

const petstore = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [built('petstore.js'), ...args], { env: environment, cwd: '/', encoding: 'utf8' });
const createKey = (...args: readonly string[]): string =>
  JSON.parse(petstore('keys', 'create', '--json', '--plan', ...args)).key;

function startServer(port: number): Program {
  // One address for both, as behind any balancer: their pages are then the same.
  const PUBLIC_BASE_URL = 'https://api.shop.example/v1';
  const settings = { PORT: `${port}`, ADMIN_PORT: '0', TRUST_PROXY: '127.0.0.1', INSTANCES: '2', PUBLIC_BASE_URL };
  return new Program([process.execPath, built('server.js')], { ...environment, ...settings, SHUTDOWN_DELAY: '5s' });
}

/** Starts two servers, which run until the tests end. */
async function startServers(): Promise<RunningServer[]> {
  const started: RunningServer[] = [];
  resources.defer(async () => {
    await Promise.all(started.map(({ program }) => program[Symbol.asyncDispose]()));
  });
  for (let i = 0; i < 2; i++) {
    const port = await findFreePort();
    started.push({ port, program: startServer(port) });
  }
  await Promise.all(started.map(({ program }) => program.urls()));
  return started;
}

beforeAll(async () => {
  setDefaultCACertificates([...getCACertificates('default'), SELF_SIGNED.cert]);
  resources.use(temporary);
  const database = resources.use(await createTestDatabase());
  const redis = resources.use(await createTestRedis());
  environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  petstore('orders', 'generate', '--count', `${ORDERS}`);
  key = createKey('enterprise', '--internal', '--per-minute', '1000000', '--per-day', '1000000');
  servers = await startServers();
  const port = await findFreePort();
  const serverPorts = servers.map((server) => server.port);
  nginx = resources.use(startNginx({ folder: join(temporary.path, 'nginx'), port, serverPorts }));
  url = `https://localhost:${port}`;
  const isServing = async () => (await fetch(`${url}/v1/openapi.json`)).ok;
  await vi.waitUntil(() => !nginx.isRunning || isServing().catch(() => false), { timeout: 30_000 });
  if (!nginx.isRunning) throw new Error(`nginx ended:\n${nginx.stderr}`);
});
afterAll(() => resources.disposeAsync());

describe('through nginx', () => {
  const bearer = (text = key) => ({ authorization: `Bearer ${text}` });

  test('HTTP/2 and TLS are spoken, a long list arrives whole, and HSTS has browsers use TLS from then on', () => {
    const secure = ['--http2', '--cacert', join(temporary.path, 'ca.pem')];
    writeFileSync(join(temporary.path, 'ca.pem'), SELF_SIGNED.cert);
    const authorization = `Authorization: Bearer ${key}`;
    const form = '%{stderr}%{http_version} %{header_json}';
    const { stdout, stderr } = curl([...secure, '-sS', '-w', form, '-H', authorization, `${url}/v1/store/orders`]);
    expect(JSON.parse(stdout).length).toBeGreaterThanOrEqual(ORDERS);
    expect(stderr).toMatch(/^2 /);
    const headers = JSON.parse(stderr.slice(2));
    expect(headers['strict-transport-security']).toEqual(['max-age=31536000']);
    expect(headers['x-request-id']).toHaveLength(1);
    expect(headers['content-encoding']).toBeUndefined();
  });

  test('tRPC calls, lists and calls that wait work; an event arrives within a second', async () => {
    const client = createPetstoreClient({ baseUrl: url, apiKey: key, maxRetries: 0 });
    let count = 0;
    for await (const batch of await client.orders.list.query()) count += batch.length;
    expect(count).toBeGreaterThanOrEqual(ORDERS);
    const begun = Promise.withResolvers<string>();
    const events = client.events({ onBegin: begun.resolve });
    const first = events.next(); // which begins
    await begun.promise;
    const tookMs: number[] = [];
    for (let i = 0; i < 5; i++) {
      await sleep(1_500); // by then the client waits: its calls begin a second apart
      const placedAtMs = performance.now();
      const { id } = await client.orders.place.mutate({ petId: 1n, quantity: 1 });
      const { value } = await (i === 0 ? first : events.next());
      expect(value).toMatchObject({ type: 'order.placed', orderId: id });
      tookMs.push(performance.now() - placedAtMs);
    }
    await events.return();
    // The others may have waited for a busy machine.
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
  });

  test('callers are known by their own address, whatever they say it is', async () => {
    const remainingFor = async (address: string, claimed: string) => {
      const from = { headers: { 'x-forwarded-for': claimed }, localAddress: address, family: 4, agent: false };
      const [response] = await once(request(`${url}/v1/store/orders`, from).end(), 'response');
      response.resume();
      expect(response.statusCode).toBe(401);
      return Number(response.headers['x-ratelimit-remaining']);
    };
    expect(await remainingFor('127.0.1.1', '203.0.113.1')).toBe(599);
    expect(await remainingFor('127.0.1.1', '203.0.113.2')).toBe(598);
    expect(await remainingFor('127.0.2.1', '203.0.113.2')).toBe(599);
  });

  test('a refusal by a limit, and one by size, arrive as the service wrote them', async () => {
    const limited = createKey('enterprise', '--per-minute', '1', '--per-day', '100');
    const isRefused = async () =>
      (await fetch(`${url}/v1/store/orders`, { headers: bearer(limited), method: 'HEAD' })).status === 429;
    // The second one, unless the machine is so busy that a server gave up waiting for Redis, and counted by itself.
    await vi.waitUntil(isRefused, { timeout: 25_000 });
    const refused = await fetch(`${url}/v1/store/orders`, { headers: bearer(limited) });
    expect(await refused.json()).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
    expect(refused.headers.get('x-ratelimit-limit')).toBe('1');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const headers = { ...bearer(), 'content-type': 'application/json' };
    const large = await fetch(`${url}/trpc/orders.place`, { method: 'POST', headers, body: ' '.repeat(70_000) });
    expect([large.status, await large.json()]).toMatchObject([413, { error: { json: { data: {} } } }]);
  });

  test('the reference and the documents are kept, and the same as from a server', async () => {
    const [first] = servers;
    for (const path of ['/docs', '/v1/openapi.json']) {
      const direct = await (await fetch(`http://127.0.0.1:${first?.port}${path}`)).text();
      const kept = await fetch(url + path);
      expect(await kept.text()).toBe(direct);
      expect(kept.headers.get('x-request-id')).toBeNull();
    }
  });
});

test('nginx has nothing to say against its configuration', () => {
  expect(nginx.stderr.match(/^.*\[(?:warn|alert|emerg)\].*$/gm)).toBeNull();
});

test('a restart of servers loses no request', async () => {
  const outcomes: string[] = [];
  let nextOrderId = 1n;
  const stopping = new AbortController();
  const repeatedly = async (call: () => Promise<unknown>) => {
    while (!stopping.signal.aborted) outcomes.push(await call().then(() => 'done', String));
  };
  // nginx does not poll. It sends a GET that a server lost to the other one; a POST is for the client to repeat.
  const client = createPetstoreClient({ baseUrl: url, apiKey: key });
  const read = async () => {
    const response = await fetch(`${url}/v2/store/orders/${ORDERS}`, { headers: { authorization: `Bearer ${key}` } });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const calls = [() => client.orders.cancel.mutate({ orderId: nextOrderId++ }), read];
  const load = [...calls, ...calls].map(repeatedly);
  for (const server of servers) {
    expect((await server.program.stop()).code).toBe(0);
    server.program = startServer(server.port);
    await server.program.urls();
    await sleep(2_500); // longer than nginx leaves out a server that it could not reach
  }
  stopping.abort();
  await Promise.all(load);
  expect(outcomes.filter((outcome) => outcome !== 'done')).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(100);
});

test('with no server left, documents are still there, and all else is 503 as the service would say it', async () => {
  await Promise.all(servers.map(({ program }) => program.stop('SIGKILL')));
  const response = await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, await response.json()]).toEqual([
    503,
    {
      code: 'service_unavailable',
      message: 'The service is temporarily unavailable. Retry after the time in the Retry-After header.',
      status: 503,
    },
  ]);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000');
  expect((await fetch(`${url}/docs`)).status).toBe(200);
});

function curl(args: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { stdout, stderr, status } = spawnSync('curl', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`curl ended with ${status}: ${stderr}`);
  return { stdout, stderr };
}
