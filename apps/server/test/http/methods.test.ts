import { METHODS } from 'node:http';
import { restRoutes } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { importPets, placeOrder } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw, sendOne, sendRaw } from './support/raw-http.ts';
import { withListing } from './support/replaced-parts.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

let listings = 0;
const app = await useTestApp({
  wrap: {
    orders: (orders) =>
      withListing(orders, async function* counted(original) {
        listings++;
        yield* original;
      }),
  },
});
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

const authorized = (line: string, ...more: string[]) =>
  [line, 'Host: x', `Authorization: Bearer ${app.key}`, ...more, '', ''].join('\r\n');

/** The paths of all operations, and the methods that each supports. */
const ofOperations = new Map<string, readonly string[]>();
for (const { apiVersion, path, method } of restRoutes) {
  const url = `/${apiVersion}${path.replace(/\{\w+\}/, '1')}`;
  ofOperations.set(url, [...(ofOperations.get(url) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
}

const PATHS: readonly (readonly [path: string, allow: string])[] = [
  ...Array.from(ofOperations, ([url, methods]) => [url, [...methods, 'OPTIONS'].join(', ')] as const),
  ['/v1/openapi.json', 'GET, HEAD, OPTIONS'],
  ['/docs', 'GET, HEAD, OPTIONS'],
  ['/', 'GET, HEAD, OPTIONS'],
];

describe('a method that a path does not support', () => {
  test.each(PATHS)('%s: 405 with Allow: %s', async (path, allow) => {
    const others = METHODS.filter((method) => method !== 'CONNECT' && !allow.split(', ').includes(method));
    expect(others.length).toBeGreaterThan(20);
    for (const method of others) {
      const response = await sendOne(authorized(`${method} ${path} HTTP/1.1`), { port: app.port, method });
      if (method === 'HEAD') expect(response.status).toBe(405);
      else await expectError(response, 'method_not_allowed');
      expect(response.headers['allow'], method).toBe(allow);
      if (ofOperations.has(path)) expectRateLimitHeaders(response);
    }
  });
});

describe('OPTIONS', () => {
  test.each(PATHS)('%s: 204 with Allow: %s, no body and no type', async (path, allow) => {
    const response = await sendOne(authorized(`OPTIONS ${path} HTTP/1.1`), { port: app.port });
    expect(response).toMatchObject({ status: 204, headers: { allow } });
    expect(response.headers).not.toHaveProperty('content-type');
    expect(response.headers).not.toHaveProperty('content-length');
  });

  test('of an unknown path is 404', async () => {
    await expectError(await app.fetch('/v1/nothing', { method: 'OPTIONS' }), 'route_not_found');
  });

  test('* is 204, too', async () => {
    const response = await sendOne('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', { port: app.port });
    expect(response).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });
});

describe('HEAD', () => {
  test.each(['/v1/pets/1', '/v1/pets/404', '/v1/pets/x', '/v1/nothing', '/v1/openapi.json', '/docs', '/'])(
    '%s has the status and headers of GET, and no body',
    async (path) => {
      const [get, head] = await sendRaw(authorized(`GET ${path} HTTP/1.1`) + authorized(`HEAD ${path} HTTP/1.1`), {
        port: app.port,
        count: 2,
        methods: ['GET', 'HEAD'],
      });
      expect(head?.status).toBe(get?.status);
      const names = (headers = {}) => Object.keys(headers).sort();
      expect(names(head?.headers)).toEqual(names(get?.headers));
      expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
    },
  );

  test('of the list lists nothing', async () => {
    const before = listings;
    const head = await sendOne(authorized('HEAD /v1/store/orders HTTP/1.1'), { port: app.port, method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expectRateLimitHeaders(head);
    expect(listings).toBe(before);
    expect((await app.fetch('/v1/store/orders')).status).toBe(200);
    expect(listings).toBe(before + 1);
  });
});

test('204 has neither a body nor a type nor a length', async () => {
  const { id } = await placeOrder(app.persistence);
  const response = await sendOne(authorized(`DELETE /v1/store/orders/${id} HTTP/1.1`), { port: app.port });
  expect(response).toMatchObject({ status: 204, body: '' });
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
    expect(response.headers).not.toHaveProperty(name);
  }
});

describe('a body of GET or DELETE is ignored', () => {
  const BODIES = [
    ['bad JSON', ['Content-Type: application/json', 'Content-Length: 7'], '{"bad":'],
    ['an unknown type', ['Content-Type: what/ever; x', 'Content-Length: 5'], 'hello'],
    ['no type', ['Content-Length: 5'], 'hello'],
    ['an empty JSON body', ['Content-Type: application/json', 'Content-Length: 0'], ''],
    ['an unknown encoding', ['Content-Encoding: zip', 'Content-Length: 5'], 'hello'],
  ] as const;

  test.each(BODIES)('%s, and the connection stays open', async (_, headers, body) => {
    const { id } = await placeOrder(app.persistence);
    const responses = await sendRaw(
      authorized(`DELETE /v1/store/orders/${id} HTTP/1.1`, ...headers) +
        body +
        authorized('GET /v1/pets/1 HTTP/1.1', ...headers) +
        body +
        authorized('GET /v1/pets/1 HTTP/1.1'),
      { port: app.port, count: 3 },
    );
    expect(responses.map(({ status }) => status)).toEqual([204, 200, 200]);
  });

  test('a complete chunked one does not end the connection', async () => {
    const chunked = `${authorized('GET /v1/pets/1 HTTP/1.1', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`;
    const responses = await sendRaw(chunked + chunked, { port: app.port, count: 2 });
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });

  test.each([
    ['a huge one', 'Content-Length: 10000000000'],
    ['one without an end', 'Transfer-Encoding: chunked'],
  ])('%s is not waited for', async (_, header) => {
    const { id } = await placeOrder(app.persistence);
    using connection = await openRaw({ port: app.port });
    const piece = header.startsWith('T') ? `2710\r\n${'x'.repeat(10_000)}\r\n` : 'x'.repeat(10_000);
    connection.write(authorized(`DELETE /v1/store/orders/${id} HTTP/1.1`, header) + piece.repeat(100));
    expect(await connection.read()).toMatchObject({ status: 204 });
  });

  test('a small incomplete one ends without another response', async () => {
    await using impatient = await startTestApp({ bounds: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000 } });
    using connection = await openRaw({ port: impatient.port });
    connection.write(
      `GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${impatient.key}\r\nContent-Length: 10\r\n\r\nhalf`,
    );
    expect(await connection.read()).toMatchObject({ status: 404 });
    expect(await connection.readToEnd()).toBe('');
  });
});

test.each([
  [
    'an offer of h2c, as of Java’s HttpClient',
    ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'],
  ],
  ['a Content-Type on GET', ['Content-Type: application/json']],
  ['Accept of another type', ['Accept: application/xml']],
  ['a range', ['Range: bytes=0-10']],
  ['a method to override', ['X-HTTP-Method-Override: DELETE']],
])('%s changes nothing, and the connection stays open', async (_, headers) => {
  using connection = await openRaw({ port: app.port });
  for (let i = 0; i < 2; i++) {
    connection.write(authorized('GET /v1/pets/1 HTTP/1.1', ...headers));
    const { status, body } = await connection.read();
    expect([status, JSON.parse(body).name]).toEqual([200, 'Ada']);
  }
});

test('an offer of h2c loses no body, whether it comes with its head or after it', async () => {
  using connection = await openRaw({ port: app.port });
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
  const type = ['Content-Type: application/json', 'Content-Length: 1'];
  for (const pieces of [
    [`${authorized('POST /trpc/orders.cancel HTTP/1.1', ...offer, ...type)}{`],
    [authorized('POST /trpc/orders.cancel HTTP/1.1', ...offer, ...type), '{'],
  ]) {
    for (const piece of pieces) connection.write(piece);
    expect((await connection.read()).body).toContain('malformed_json');
  }
});

test.each(['', 'identity', 'Identity'])('a body whose Content-Encoding is "%s" is read', async (encoding) => {
  const headers = { 'content-type': 'Application/JSON; Charset=UTF-8', 'content-encoding': encoding };
  const response = await app.fetch('/trpc/orders.cancel', { method: 'POST', headers, body: '{' });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('malformed_json');
});

test('CONNECT gets an Error object, counts for its address, and ends the connection', async () => {
  await using own = await startTestApp();
  const send = 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n';
  for (const remaining of ['599', '598']) {
    using connection = await openRaw({ port: own.port });
    connection.write(send);
    const { headers } = await expectError(await connection.read('CONNECT'), 'invalid_request');
    expect(headers).toMatchObject({ connection: 'close', 'x-ratelimit-remaining': remaining });
    expect(await connection.readToEnd()).toBe('');
  }
  expect(own.errorCodes).toEqual(['invalid_request', 'invalid_request']);
  expect(own.observed).toMatchObject([{ status: 400 }, { status: 400 }]);
});

test('CONNECT behind a request takes nothing from its response, and ends the connection', async () => {
  using connection = await openRaw({ port: app.port });
  connection.write(`${authorized('GET /v1/pets/1 HTTP/1.1')}CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`);
  expect(await connection.read()).toMatchObject({ status: 200 });
  expect(await connection.readToEnd()).toBe('');
});

test('an offer of a WebSocket changes nothing', async () => {
  const offer = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAA', 'Sec-WebSocket-Version: 13'];
  const response = await sendOne(authorized('GET /v1/pets/1 HTTP/1.1', ...offer), { port: app.port });
  expect(response.status).toBe(200);
});

describe('on one connection', () => {
  test('responses come in the order of their requests, also before garbage', async () => {
    const get = authorized('GET /v1/pets/1 HTTP/1.1');
    const responses = await sendRaw(`${get}${get}GARBAGE\r\n\r\n`, { port: app.port, count: 2 });
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('HTTP/1.0 needs no Host', async () => {
    const response = await sendOne(`GET /v1/pets/1 HTTP/1.0\r\nAuthorization: Bearer ${app.key}\r\n\r\n`, {
      port: app.port,
    });
    expect(response).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  test('one without a request is closed without a response', async () => {
    await using impatient = await startTestApp({ bounds: { headersTimeoutMs: 100 } });
    using connection = await openRaw({ port: impatient.port });
    expect(await connection.readToEnd()).toBe('');
  });
});
