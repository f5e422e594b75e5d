import { once } from 'node:events';
import { connect } from 'node:net';
import { PATIENTLY, startPostgresServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, forgedKey, prepareServerDatabase } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw, request, sendRaw } from './support/raw-http.ts';
import { countForAddress, startCountingApp, startTestApp, type TestApp } from './support/test-app.ts';

/** Sends requests one after the other on one connection from an address. @returns their responses */
async function sendFrom(localAddress: string, { port }: TestApp, keys: readonly (string | undefined)[]) {
  using connection = await openRaw({ port, localAddress });
  const responses = [];
  for (const key of keys) {
    connection.write(request('/v1/pets/1', key));
    responses.push(await connection.read());
  }
  return responses;
}

describe('an address over its limit', () => {
  test('causes at most five look-ups a second, whatever keys it invents', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.11';
    const begin = performance.now();
    await countForAddress(app, address, 590);
    const responses = await sendFrom(address, app, Array.from({ length: 100 }, forgedKey));
    const seconds = (performance.now() - begin) / 1_000;
    expect(responses.map(({ status, headers }) => `${status} ${headers['x-ratelimit-remaining']}`)).toEqual([
      ...Array.from({ length: 10 }, (_, sent) => `401 ${9 - sent}`),
      ...Array(90).fill('429 0'),
    ]);
    expect(lookUps()).toBeLessThanOrEqual(10 + 5 * Math.ceil(seconds + 1));
    for (const response of responses.slice(-5)) {
      expect(response.headers['x-ratelimit-limit']).toBe('600');
      expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
  });

  test('is no obstacle for a valid key, whether the process has cached it or not', async () => {
    const { app: counting } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.12';
    const { text: unknown } = await createKey(app.persistence);
    expect((await app.fetch('/v1/pets/1')).status).toBe(404);
    await countForAddress(app, address, 600);
    const [refused] = await sendFrom(address, app, [undefined]);
    expect(refused?.status).toBe(429);
    const [known, other] = await sendFrom(address, app, [app.key, unknown]);
    expect(known?.status).toBe(404);
    expect(other?.status).toBe(404);
  });

  test('is refused a malformed URL without more look-ups', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const localAddress = '127.0.0.13';
    await countForAddress(app, localAddress, 600);
    await sendFrom(localAddress, app, [undefined]);
    const text = Array.from({ length: 50 }, () => request('/v1/pets/%zz', forgedKey())).join('');
    const responses = await sendRaw(text, { port: app.port, localAddress, count: 50 });
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([400]));
    expect(lookUps()).toBeLessThanOrEqual(25);
  });
});

test('while PostgreSQL is known to be unavailable no unknown key is looked up', async () => {
  const { app: counting, lookUps } = await startCountingApp({ isStorageAvailable: () => false });
  await using app = counting;
  for (let i = 0; i < 5; i++) {
    const response = await expectError(await app.fetch('/v1/pets/1', { key: forgedKey() }), 'service_unavailable');
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '600' });
  }
  expect(lookUps()).toBe(0);
});

test('while PostgreSQL is unavailable a cached key stays valid, and other callers get 503, uncounted', async () => {
  await using postgres = await startPostgresServer();
  await prepareServerDatabase(postgres.url);
  let isStorageAvailable = true;
  let elapsedMs = 0;
  await using app = await startTestApp({
    databaseUrl: postgres.url,
    monotonicNowMs: () => performance.now() + elapsedMs,
    isStorageAvailable: () => isStorageAvailable,
  });
  expect((await app.fetch('/v1/store/orders')).status).toBe(200);
  const unknownKey = forgedKey();

  await postgres.kill();
  isStorageAvailable = false;
  // Sessions end a moment after their server.
  await expect.poll(async () => (await app.fetch('/v1/store/orders')).status, { timeout: 30_000 }).toBe(503);

  const known = await expectError(await app.fetch('/v1/store/orders'), 'service_unavailable');
  expect(known.headers).toMatchObject({ 'x-ratelimit-limit': '1000000000', 'retry-after': expect.any(String) });
  // Routes that need no database work as before.
  await expectError(await app.fetch('/v1/nothing'), 'route_not_found');
  expect((await app.fetch('/docs', { key: null })).status).toBe(200);

  elapsedMs = 65_000; // the key of the app is not known for longer
  for (const key of [app.key, unknownKey, 'unknown', null]) {
    for (let i = 0; i < 2; i++) {
      const unknown = await expectError(await app.fetch('/v1/store/orders', { key }), 'service_unavailable');
      expect(unknown.headers).toMatchObject({
        'x-ratelimit-limit': '600',
        'x-ratelimit-remaining': '600',
        'retry-after': expect.any(String),
      });
    }
  }
  const trpc = await app.fetch('/trpc/pets.get', { key: unknownKey });
  expect(trpc.status).toBe(503);
  expect(await trpc.json()).toMatchObject({ error: { json: { data: { errorCode: 'service_unavailable' } } } });

  await postgres.restart();
  isStorageAvailable = true;
  await expect.poll(async () => (await app.fetch('/v1/store/orders')).status, { timeout: 30_000 }).toBe(200);
  await expectError(await app.fetch('/v1/store/orders', { key: unknownKey }), 'invalid_api_key');
}, 120_000);

test('input that the parser refuses counts for its address: 600 a minute, and then requests without a key are refused', async () => {
  await using app = await startTestApp();
  const send = async (text: string, localAddress: string) => {
    const [response] = await sendRaw(text, { port: app.port, localAddress });
    return response ?? expect.fail('no response');
  };
  const REFUSED = [
    ['invalid_request', 'HELLO\r\n\r\n'],
    ['headers_too_large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
  ] as const;
  const KEYLESS = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';
  await countForAddress(app, '127.0.0.9', 590);
  for (let round = 0; round < 5; round++) {
    for (const [i, [code, text]] of REFUSED.entries()) {
      const { headers } = await expectError(await send(text, '127.0.0.9'), code);
      expect(headers['x-ratelimit-remaining']).toBe(`${9 - round * 2 - i}`);
    }
  }
  await expectError(await send(KEYLESS, '127.0.0.9'), 'rate_limit_exceeded');
  await expectError(await send(KEYLESS, '127.0.0.10'), 'missing_api_key');
  for (const [code, text] of REFUSED) {
    const { headers } = await expectError(await send(text, '127.0.0.9'), code);
    expect(headers).not.toHaveProperty('retry-after'); // it would be refused again
  }
});

test('of an address 64 requests may wait for a look-up, and further ones are refused', async () => {
  const { app: counting, lookUps, hold } = await startCountingApp();
  await using app = counting;
  expect((await app.fetch('/v1/pets/1')).status).toBe(404);
  const letGo = hold();
  const from = async (localAddress: string, key: string) => {
    using connection = await openRaw({ port: app.port, localAddress });
    connection.write(request('/v1/pets/1', key));
    return await connection.read();
  };
  const waiting = Array.from({ length: 64 }, () => from('127.0.0.14', forgedKey()));
  await expect.poll(lookUps, PATIENTLY).toBe(65);
  for (let i = 0; i < 3; i++) {
    const refused = await from('127.0.0.14', forgedKey());
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1', 'x-ratelimit-limit': '600' } });
  }
  // A cached key, and another address, are admitted.
  expect((await from('127.0.0.14', app.key)).status).toBe(404);
  const other = from('127.0.0.15', forgedKey());
  await expect.poll(lookUps, PATIENTLY).toBe(66);
  letGo();
  expect((await Promise.all([...waiting, other])).filter(({ status }) => status === 401).length).toBeGreaterThan(60);
});

describe('connections', () => {
  const connectionsOf = ({ app }: TestApp) =>
    new Promise<number>((resolve, reject) =>
      app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  const open = async (port: number, localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };

  test('have time limits by default', async () => {
    await using app = await startTestApp();
    const { headersTimeout, requestTimeout, keepAliveTimeout } = app.app.server;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 125_000,
    });
  });

  test('of one address are bounded, and another one still connects', async () => {
    await using app = await startTestApp({ bounds: { maxConnectionsPerAddress: 3 } });
    const three = await Promise.all([1, 2, 3].map(() => open(app.port, '127.0.0.21')));
    await expect.poll(() => connectionsOf(app), PATIENTLY).toBe(3);
    const refused = await open(app.port, '127.0.0.21');
    await once(refused, 'close');
    const [response] = await sendFrom('127.0.0.22', app, [app.key]);
    expect(response?.status).toBe(404);
    three[0]?.destroy();
    await expect.poll(() => connectionsOf(app), PATIENTLY).toBe(2);
    const [again] = await sendFrom('127.0.0.21', app, [app.key]);
    expect(again?.status).toBe(404);
    for (const socket of three) socket.destroy();
  });

  test('of a trusted proxy count only towards the bound of all connections', async () => {
    await using app = await startTestApp({
      bounds: { maxConnectionsPerAddress: 1, maxConnections: 4 },
      trustedProxies: ['127.0.0.23'],
    });
    const four = await Promise.all([1, 2, 3, 4].map(() => open(app.port, '127.0.0.23')));
    await expect.poll(() => connectionsOf(app), PATIENTLY).toBe(4);
    const refused = await open(app.port, '127.0.0.23');
    await once(refused, 'close');
    for (const socket of four) socket.destroy();
  });
});
