import { once } from 'node:events';
import { createServer } from 'node:http';
import { RuntimeError } from '@petstore/runtime';
import fastify from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openAdminListener } from '../../src/operations/admin-listener.ts';
import { Health } from '../../src/operations/health.ts';
import { assertPortIsFree, isLoopback, listenOn, logFailedAccepts, portOf } from '../../src/operations/listen.ts';
import { type Composed, composeServer } from '../support/composed-server.ts';

/** Another address of this machine that only itself can call. */
const ANOTHER = '127.0.0.2';

const onHost = (url: string, hostname: string): string => Object.assign(new URL(url), { hostname }).href;

describe('with HOST and what the interface says of itself', () => {
  const CONTACT = 'mailto:security@shop.example';
  const beforeStartMs = Date.now();
  let started: Composed;
  beforeAll(async () => {
    started = await composeServer({
      HOST: ANOTHER,
      SECURITY_CONTACT: CONTACT,
      PUBLIC_BASE_URL: 'https://api.shop.example/x/v1',
      STAGING_BASE_URL: 'https://staging.shop.example/v1',
      SUPPORT_CONTACT: 'https://shop.example/support',
      STATUS_PAGE_URL: 'https://status.shop.example',
      PETS_SUNSET_AT: '2031-05-06',
      CORS_ORIGINS: 'https://shop.example',
      TRUST_PROXY: '127.0.0.0/8',
    });
  });
  afterAll(() => started[Symbol.asyncDispose]());

  test('health and metrics listen on 127.0.0.1 wherever HOST is', async () => {
    const url = await started.server.url();
    const adminUrl = await started.server.adminUrl();
    expect(new URL(url).hostname).toBe(ANOTHER);
    expect(new URL(adminUrl).hostname).toBe('127.0.0.1');
    expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/readyz`, ANOTHER))).rejects.toThrow('fetch failed');
  });

  test('an error leads to its page below PUBLIC_BASE_URL, without the version', async () => {
    const { headers } = await fetch(`${await started.server.url()}/v1/store/orders`);
    expect(headers.get('link')).toBe('<https://api.shop.example/x/docs/errors/missing_api_key>; rel="help"');
  });

  test('the document names both addresses of the service, whom to ask and where its status is', async () => {
    const { servers, info } = await (await fetch(`${await started.server.url()}/v1/openapi.json`)).json();
    expect(servers).toMatchObject([
      { url: 'https://api.shop.example/x/v1' },
      { url: 'https://staging.shop.example/v1' },
    ]);
    expect(info.contact).toMatchObject({ url: 'https://shop.example/support' });
    expect(info.description).toContain('https://status.shop.example');
  });

  test('pets end when PETS_SUNSET_AT says, origins of CORS_ORIGINS may read that, and TRUST_PROXY tells callers apart', async () => {
    const callFrom = async (address: string) => {
      const headers = { origin: 'https://shop.example', 'x-forwarded-for': address };
      return (await fetch(`${await started.server.url()}/v1/pets/1`, { headers })).headers;
    };
    const first = await callFrom('198.51.100.7');
    expect(first.get('sunset')).toBe('Tue, 06 May 2031 00:00:00 GMT');
    expect(first.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(first.get('x-ratelimit-remaining')).toBe('599');
    expect((await callFrom('198.51.100.8')).get('x-ratelimit-remaining')).toBe('599');
  });

  test('/.well-known/security.txt names the contact without a key, for a year', async () => {
    const response = await fetch(`${await started.server.url()}/.well-known/security.txt`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    const fields = (await response.text()).trimEnd().split('\n');
    expect(fields).toEqual([
      `Contact: ${CONTACT}`,
      expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      'Preferred-Languages: en',
      'Canonical: https://api.shop.example/.well-known/security.txt',
    ]);
    const expiresMs = Date.parse(fields[1]?.slice('Expires: '.length) ?? '');
    expect(expiresMs).toBeGreaterThanOrEqual(beforeStartMs + 364 * 86_400_000);
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + 366 * 86_400_000);
  });
});

describe('with ADMIN_HOST', () => {
  let started: Composed;
  beforeAll(async () => {
    started = await composeServer({ ADMIN_HOST: ANOTHER });
  });
  afterAll(() => started[Symbol.asyncDispose]());

  test('health and metrics listen on ADMIN_HOST, and the log names it', async () => {
    const url = await started.server.url();
    const adminUrl = await started.server.adminUrl();
    expect([new URL(url).hostname, new URL(adminUrl).hostname]).toEqual(['127.0.0.1', ANOTHER]);
    expect((await fetch(`${adminUrl}/metrics`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/metrics`, '127.0.0.1'))).rejects.toThrow('fetch failed');
    expect(started.server.stdout).toContain(`"host":"${ANOTHER}","msg":"serving health and metrics"`);
  });

  test('the document names the address of the listener', async () => {
    const url = await started.server.url();
    const { servers } = await (await fetch(`${url}/v1/openapi.json`)).json();
    expect(servers).toMatchObject([{ url: `${url}/v1` }]);
  });

  test('/.well-known/security.txt does not exist without a SECURITY_CONTACT', async () => {
    const response = await fetch(`${await started.server.url()}/.well-known/security.txt`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'route_not_found' });
  });
});

test('the document names no address of a listener that has several', async () => {
  await using started = await composeServer({ HOST: '0.0.0.0' });
  const { servers } = await (await fetch(onHost(`${await started.server.url()}/v1/openapi.json`, ANOTHER))).json();
  expect(servers).toMatchObject([{ url: '../v1' }]);
});

/** A port of 127.0.0.1 on which another server listens until the test ends. */
async function useOccupiedPort(): Promise<number> {
  const occupying = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void occupying.close());
  await once(occupying, 'listening');
  return portOf(occupying);
}

test('an address that cannot be listened on is refused in one line, which names its setting', async () => {
  const port = await useOccupiedPort();
  for (const [address, refusal] of [
    [
      { host: '127.0.0.1', port, setting: 'PORT' },
      `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set PORT to another.`,
    ],
    [
      { host: '192.0.2.1', port: 0, setting: 'ADMIN_PORT' },
      '192.0.2.1 is not an address of this machine. Set ADMIN_HOST to one',
    ],
    [{ host: 'fe80::1', port: 0, setting: 'PORT' }, 'fe80::1 is not an address of this machine. Set HOST to one'],
    [{ host: 'nowhere.invalid', port: 0, setting: 'PORT' }, 'nowhere.invalid is not an address of this machine.'],
  ] as const) {
    const refused = listenOn(fastify(), address);
    await expect(refused).rejects.toThrow(RuntimeError);
    await expect(refused).rejects.toThrow(refusal);
  }
});

test('a port that is in use is found before the start, and by the listener for health and metrics', async () => {
  const port = await useOccupiedPort();
  const address = { host: '127.0.0.1', port, setting: 'PORT' } as const;
  await expect(assertPortIsFree(address)).rejects.toThrow('or set PORT to another.');
  await using resources = new AsyncDisposableStack();
  const options = { health: new Health(), registry: new Registry(), logger: pino({ level: 'silent' }) };
  const opened = openAdminListener({ adminHost: '127.0.0.1', adminPort: port }, options, resources);
  await expect(opened).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use. Stop the process that uses it, or set ADMIN_PORT`,
  );
});

test.each(['127.0.0.1', '127.255.0.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
  'what listens on %s can be called from this machine alone',
  (host) => expect(isLoopback(host)).toBe(true),
);

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '::2',
  '::ffff:10.0.0.1',
  '127.1',
  'shop.example',
  'localhost.example',
])('what listens on %s may be called from elsewhere', (host) => expect(isLoopback(host)).toBe(false));

test('a connection that the system cannot give is logged, and ends nothing', () => {
  const server = createServer();
  const logged: unknown[] = [];
  logFailedAccepts(server, { warn: (...entry: readonly unknown[]) => void logged.push(entry) });
  const err = Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' });
  server.emit('error', err);
  expect(logged).toEqual([[{ err }, 'a connection could not be accepted']]);
});
