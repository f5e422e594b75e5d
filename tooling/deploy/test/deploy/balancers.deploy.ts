import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
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
import { Program } from '../support/program.ts';
import { type BalancedServer, type BalancerName, startBalancer } from '../support/proxies.ts';

type BalancerUrls = ReadonlyMap<BalancerName, string>;

interface RunningServer {
  readonly at: BalancedServer;
  program: Program;
}

const BALANCERS: readonly BalancerName[] = ['nginx', 'HAProxy'];
const ORDERS = 100_000;

const built = useBuiltFolder();
const temporary = createTemporaryFolder();
const resources = new AsyncDisposableStack();
let environment: Record<string, string>;
const balancers: Program[] = [];
let urls: BalancerUrls;
let servers: RunningServer[];
let nextOrderId = 1n;
/** Business, and internal. */
let key: string;

const petstore = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [built('petstore.js'), ...args], { env: environment, cwd: '/', encoding: 'utf8' });
const createKey = (...args: readonly string[]): string =>
  JSON.parse(petstore('keys', 'create', '--json', '--plan', ...args)).key;

function startServer({ at: { port, adminPort } }: Omit<RunningServer, 'program'>): Program {
  const ports = { PORT: `${port}`, ADMIN_PORT: `${adminPort}` };
  // One address, as behind any balancer: the pages of both servers are then the same.
  const PUBLIC_BASE_URL = 'https://api.shop.example/v1';
  const common = { TRUST_PROXY: '127.0.0.1', SHUTDOWN_DELAY: '5s', INSTANCES: '2', PUBLIC_BASE_URL };
  return new Program([process.execPath, built('server.js')], { ...environment, ...ports, ...common });
}

/** Starts a server on each of the ports, until the tests end. */
async function startServers(ports: readonly number[]): Promise<RunningServer[]> {
  const started: RunningServer[] = [];
  resources.defer(async () => {
    await Promise.all(started.map(({ program }) => program[Symbol.asyncDispose]()));
  });
  for (const port of ports) {
    const server = { at: { port, adminPort: await findFreePort() } };
    started.push({ ...server, program: startServer(server) });
  }
  await Promise.all(started.map(({ program }) => program.urls()));
  return started;
}

/** Starts both balancers in front of the servers. */
async function startBalancers(behind: readonly RunningServer[]): Promise<BalancerUrls> {
  const started = new Map<BalancerName, string>();
  for (const name of BALANCERS) {
    const port = await findFreePort();
    const at = { folder: join(temporary.path, name), port, servers: behind.map((server) => server.at) };
    const balancer = resources.use(startBalancer(name, at));
    const url = `https://localhost:${port}`;
    started.set(name, url);
    balancers.push(balancer);
    const isServing = async () => (await fetch(`${url}/v1/openapi.json`)).ok;
    await vi.waitUntil(() => !balancer.isRunning || isServing().catch(() => false), { timeout: 30_000 });
    if (!balancer.isRunning) throw new Error(`${name} ended:\n${balancer.stderr}`);
  }
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
  servers = await startServers([await findFreePort(), await findFreePort()]);
  urls = await startBalancers(servers);
});
afterAll(() => resources.disposeAsync());

/** @param address of ours, from which the balancer is called */
async function get(
  url: string,
  { address, headers = {} }: { readonly address?: string; readonly headers?: Record<string, string> },
): Promise<IncomingMessage> {
  const sent = request(url, { headers, localAddress: address, family: 4, agent: false }).end();
  const [response] = await once(sent, 'response');
  return response;
}

describe.each(BALANCERS)('through %s', (name) => {
  const url = () => urls.get(name) ?? '';
  const bearer = (text = key) => ({ authorization: `Bearer ${text}` });

  test('HTTP/2 and TLS are spoken, a long list arrives whole, and HSTS has browsers use TLS from then on', () => {
    const secure = ['--http2', '--cacert', join(temporary.path, 'ca.pem')];
    execFileSync('sh', ['-c', 'cat > "$1"', 'sh', join(temporary.path, 'ca.pem')], { input: SELF_SIGNED.cert });
    const authorization = `Authorization: Bearer ${key}`;
    const form = '%{stderr}%{http_version} %{header_json}';
    const { stdout, stderr } = curl([...secure, '-sS', '-w', form, '-H', authorization, `${url()}/v1/store/orders`]);
    expect(JSON.parse(stdout).length).toBeGreaterThanOrEqual(ORDERS);
    expect(stderr).toMatch(/^2 /);
    const headers = JSON.parse(stderr.slice(2));
    expect(headers['strict-transport-security']).toEqual(['max-age=31536000']);
    expect(headers['x-request-id']).toHaveLength(1);
    expect(headers['content-encoding']).toBeUndefined();
  });

  test('tRPC calls, lists and calls that wait work; an event arrives within a second', async () => {
    const client = createPetstoreClient({ baseUrl: url(), apiKey: key, maxRetries: 0 });
    let count = 0;
    for await (const batch of await client.orders.list.query()) count += batch.length;
    expect(count).toBeGreaterThanOrEqual(ORDERS);
    const begun = Promise.withResolvers<string>();
    const events = client.events({ onBegin: begun.resolve });
    const first = events.next(); // which begins
    await begun.promise;
    const tookMs: number[] = [];
    for (let i = 0; i < 5; i++) {
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
      const response = await get(`${url()}/v1/store/orders`, { address, headers: { 'x-forwarded-for': claimed } });
      response.resume();
      expect(response.statusCode).toBe(401);
      return Number(response.headers['x-ratelimit-remaining']);
    };
    const last = BALANCERS.indexOf(name);
    expect(await remainingFor(`127.0.1.${last}`, '203.0.113.1')).toBe(599);
    expect(await remainingFor(`127.0.1.${last}`, '203.0.113.2')).toBe(598);
    expect(await remainingFor(`127.0.2.${last}`, '203.0.113.2')).toBe(599);
  });

  test('a refusal by a limit, and one by size, arrive as the service wrote them', async () => {
    const limited = createKey('enterprise', '--per-minute', '1', '--per-day', '100');
    const isRefused = async () =>
      (await fetch(`${url()}/v1/store/orders`, { headers: bearer(limited), method: 'HEAD' })).status === 429;
    // The second one, unless the machine is so busy that a server gave up waiting for Redis, and counted by itself.
    await vi.waitUntil(isRefused, { timeout: 25_000 });
    const refused = await fetch(`${url()}/v1/store/orders`, { headers: bearer(limited) });
    expect(await refused.json()).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
    expect(refused.headers.get('x-ratelimit-limit')).toBe('1');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const headers = { ...bearer(), 'content-type': 'application/json' };
    const large = await fetch(`${url()}/trpc/orders.place`, { method: 'POST', headers, body: ' '.repeat(70_000) });
    expect([large.status, await large.json()]).toMatchObject([413, { error: { json: { data: {} } } }]);
  });

  test('the reference and the documents are kept, and the same as from a server', async () => {
    const [first] = servers;
    for (const path of ['/docs', '/v1/openapi.json']) {
      const direct = await (await fetch(`http://127.0.0.1:${first?.at.port}${path}`)).text();
      const kept = await fetch(url() + path);
      expect(await kept.text()).toBe(direct);
      expect(kept.headers.get('x-request-id')).toBeNull();
    }
  });
});

test('neither has anything to say against its configuration', () => {
  expect(balancers.map(({ stderr }) => stderr.match(/^.*\b(?:warn|WARNING|ALERT|emerg)\b.*$/gm))).toEqual([null, null]);
});

/**
 * Cancels orders through both balancers while one server after the other is restarted, and expects that each succeeds.
 *
 * @param repeating the balancers whose clients repeat what was lost, as clients do by default
 */
async function expectNothingLost(
  through: BalancerUrls,
  behind: readonly RunningServer[],
  repeating: readonly BalancerName[],
): Promise<void> {
  const outcomes: string[] = [];
  const stopping = new AbortController();
  const load = Array.from([...through, ...through], async ([name, baseUrl]) => {
    const client = createPetstoreClient({ baseUrl, apiKey: key, ...(!repeating.includes(name) && { maxRetries: 0 }) });
    while (!stopping.signal.aborted) {
      await client.orders.cancel.mutate({ orderId: nextOrderId++ }).then(
        () => outcomes.push('cancelled'),
        (error: unknown) => outcomes.push(`${name}: ${error}`),
      );
    }
  });
  for (const server of behind) {
    expect((await server.program.stop()).code).toBe(0);
    server.program = startServer(server);
    await server.program.urls();
    await sleep(2_500); // until the balancers have looked
  }
  stopping.abort();
  await Promise.all(load);
  expect(outcomes.filter((outcome) => outcome !== 'cancelled')).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(100);
}

test('a restart of servers loses no request', async () => {
  // nginx does not poll: a call that it sends to a server in the moment the port closes is for the client to repeat.
  await expectNothingLost(urls, servers, ['nginx']);
});

test('with no server left, documents are still there, and all else is 503 as the service would say it', async () => {
  await Promise.all(servers.map(({ program }) => program.stop('SIGKILL')));
  for (const name of BALANCERS) {
    const url = urls.get(name) ?? '';
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
  }
});

function curl(args: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { stdout, stderr, status } = spawnSync('curl', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`curl ended with ${status}: ${stderr}`);
  return { stdout, stderr };
}
