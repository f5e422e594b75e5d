import type { ErrorCode } from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { createKey, importPets, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw, request, sendOne, sendRaw } from './support/raw-http.ts';
import { failingToFindKeys } from './support/replaced-parts.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

// What clients may write besides the requests of operations, which the tests of conformance walk through.

const app = await useTestApp();
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

const send = (target: string, key?: string, method = 'GET') =>
  sendOne(request(target, key, method), { port: app.port, method });

describe('a malformed URL is 400 before anything else', () => {
  test.each<[target: string, key: string | undefined, isCounted: boolean]>([
    ['/v1/store/orders/%', app.key, true],
    ['/v1/store/orders/%zz', undefined, true],
    ['/v1/store/orders/%C0%80', 'unknown', true],
    ['/v1/%', app.key, true],
    ['/%76%31/%', app.key, true],
    ['/trpc/%', app.key, true],
    ['/%', app.key, false],
    ['/docs/%', app.key, false],
    ['http://', app.key, true],
    ['http://[', undefined, true],
    ['http://x:y:z', 'unknown', true],
    ['http://x:y:z/v1/store/orders', app.key, true],
    ['https://%zz/', app.key, true],
    ['*', app.key, true],
  ])('%s with the key %s', async (target, key, isCounted) => {
    const response = await send(target, key);
    expect(response.headers['x-request-id']).toBeTruthy();
    const code: ErrorCode = 'invalid_request';
    if (target.startsWith('/trpc'))
      expect(response).toMatchObject({ status: 400, body: expect.stringContaining(code) });
    else await expectError(response, code);
    if (isCounted) expectRateLimitHeaders(response);
    else expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  test('it counts for the key of the request', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const remaining = async (target: string) => (await send(target, key)).headers['x-ratelimit-remaining'];
    expect(await remaining('/v1/store/orders')).toBe('9');
    await send('/v1/%', key);
    expect(await remaining('/v1/store/orders')).toBe('7');
  });

  test('it is not told to wait if its key is over its limit', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
    expect((await send('/v1/store/orders', key)).status).toBe(200);
    expect((await send('/v1/store/orders', key)).headers).toHaveProperty('retry-after');
    const { status, headers } = await send('/v1/%', key);
    expect([status, headers['x-ratelimit-remaining']]).toEqual([400, '0']);
    expect(headers).not.toHaveProperty('retry-after');
  });

  test('it is 400 also if its key cannot be looked up', async () => {
    await using failing = await startTestApp(failingToFindKeys(new StorageUnavailableError('PostgreSQL is away.')));
    const sendFailing = (target: string) => sendOne(request(target, failing.key), { port: failing.port });
    expect((await sendFailing('/v1/store/orders')).status).toBe(503);
    await expectError(await sendFailing('/v1/%'), 'invalid_request');
  });
});

test.each([
  'GET /v1/store/orders HTTP/1.1\r\n\r\n',
  'POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
])('what is no request is an Error object with rate limit headers: %j', async (text) => {
  expectRateLimitHeaders(await expectError(await sendOne(text, app), 'invalid_request'));
});

test.each(['/favicon.ico', '/*'])('%s is outside of the API: 404, and not counted', async (path) => {
  expect((await expectError(await send(path, app.key), 'route_not_found')).headers).not.toHaveProperty(
    'x-ratelimit-limit',
  );
});

test.each(['http://anything.example', 'http://anything.example?x=1'])('%s is /', async (target) => {
  expect(await send(target)).toMatchObject({ status: 302, headers: { location: 'docs' } });
});

test('OPTIONS of an unknown path is 404, and of * 204', async () => {
  await expectError(await send('/v1/nothing', app.key, 'OPTIONS'), 'route_not_found');
  expect(await send('*', undefined, 'OPTIONS')).toMatchObject({
    status: 204,
    headers: { allow: 'GET, HEAD, OPTIONS' },
  });
});

describe('a body that no operation reads', () => {
  test.each([
    ['a huge one', 'Content-Length: 10000000000'],
    ['one without an end', 'Transfer-Encoding: chunked'],
  ])('%s is not waited for', async (_, header) => {
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    const piece = header.startsWith('T') ? `2710\r\n${'x'.repeat(10_000)}\r\n` : 'x'.repeat(10_000);
    connection.write(request(`/v1/store/orders/${id}`, app.key, 'DELETE', [header]) + piece.repeat(100));
    expect(await connection.read()).toMatchObject({ status: 204 });
  });

  test('a small incomplete one ends without another response', async () => {
    await using impatient = await startTestApp({ bounds: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000 } });
    using connection = await openRaw({ port: impatient.port });
    connection.write(`${request('/v1/pets/1', app.key, 'GET', ['Content-Length: 10'])}half`);
    expect(await connection.read()).toMatchObject({ status: 404 });
    expect(await connection.readToEnd()).toBe('');
  });
});

describe('a body of a call over tRPC', () => {
  test('is not lost by an offer of h2c, whether it comes with its head or after it', async () => {
    using connection = await openRaw({ port: app.port });
    const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
    const type = ['Content-Type: application/json', 'Content-Length: 1'];
    const head = request('/trpc/orders.cancel', app.key, 'POST', [...offer, ...type]);
    for (const pieces of [[`${head}{`], [head, '{']]) {
      for (const piece of pieces) connection.write(piece);
      expect((await connection.read()).body).toContain('malformed_json');
    }
  });

  test.each(['', 'identity', 'Identity'])('is read whose Content-Encoding is "%s"', async (encoding) => {
    const headers = { 'content-type': 'Application/JSON; Charset=UTF-8', 'content-encoding': encoding };
    const response = await app.fetch('/trpc/orders.cancel', { method: 'POST', headers, body: '{' });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('malformed_json')]);
  });
});

describe('CONNECT', () => {
  const CONNECT = 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n';

  test('gets an Error object, counts for its address, and ends the connection', async () => {
    await using own = await startTestApp();
    for (const remaining of ['599', '598']) {
      using connection = await openRaw({ port: own.port });
      connection.write(CONNECT);
      const { headers } = await expectError(await connection.read('CONNECT'), 'invalid_request');
      expect(headers).toMatchObject({ connection: 'close', 'x-ratelimit-remaining': remaining });
      expect(await connection.readToEnd()).toBe('');
    }
    expect(own.errorCodes).toEqual(['invalid_request', 'invalid_request']);
    expect(own.observed).toMatchObject([{ status: 400 }, { status: 400 }]);
  });

  test('behind a request takes nothing from its response, and ends the connection', async () => {
    using connection = await openRaw({ port: app.port });
    connection.write(request('/v1/pets/1', app.key) + CONNECT);
    expect(await connection.read()).toMatchObject({ status: 200 });
    expect(await connection.readToEnd()).toBe('');
  });
});

describe('on one connection', () => {
  test('responses come in the order of their requests, also before garbage', async () => {
    const get = request('/v1/pets/1', app.key);
    const responses = await sendRaw(`${get}${get}GARBAGE\r\n\r\n`, { port: app.port, count: 2 });
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('HTTP/1.0 needs no Host', async () => {
    const text = `GET /v1/pets/1 HTTP/1.0\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
    expect(await sendOne(text, app)).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  test('one without a request is closed without a response', async () => {
    await using impatient = await startTestApp({ bounds: { headersTimeoutMs: 100 } });
    using connection = await openRaw({ port: impatient.port });
    expect(await connection.readToEnd()).toBe('');
  });
});
