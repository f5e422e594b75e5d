import type { Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import type { RateLimiter } from '@petstore/rate-limit';
import { readMemoryInUse } from '@petstore/testing';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKey, KEYS, planOf } from '../support/database.ts';
import { expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw, sendOne } from './support/raw-http.ts';
import { overriding } from './support/replaced-parts.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const shared = await useTestApp();
const { persistence } = shared;

const post = (app: TestApp, path: string, init: Parameters<TestApp['fetch']>[1] = {}) =>
  app.fetch(path, { method: 'POST', headers: JSON_BODY, ...init });

type Row = readonly [
  code: ErrorCode,
  what: string,
  provoke: (app: TestApp) => Promise<Response>,
  headers?: Readonly<Record<string, unknown>>,
];

async function sendTooManyCalls(app: TestApp): Promise<Response> {
  const { text: key } = await createKey(app.persistence, { plan: planOf(2) });
  return app.fetch('/trpc/pets.get,pets.get,pets.get?batch=1', { key });
}

const cancel = (app: TestApp, body: string | Blob, headers: Record<string, string> = JSON_BODY) =>
  post(app, '/trpc/orders.cancel', { body, headers });
const TEXT = { 'content-type': 'text/plain' };
const GZIP = { ...JSON_BODY, 'content-encoding': 'gzip' };

/** What is decided before or beside tRPC. The tests of the api have the rest. */
const ROWS: readonly Row[] = [
  ['missing_api_key', 'no key, nowhere', (app) => app.fetch('/trpc', { key: null })],
  ['missing_api_key', 'no key, a batch', (app) => app.fetch('/trpc/a,b?batch=1', { key: null })],
  ['invalid_request', 'a malformed URL', (app) => app.fetch('/trpc/%zz')],
  ['route_not_found', 'no procedure', (app) => app.fetch('/trpc/secret.path')],
  ['route_not_found', 'a trailing slash', (app) => app.fetch('/trpc/pets.get/')],
  ['route_not_found', '/trpc itself', (app) => app.fetch('/trpc')],
  ['route_not_found', 'no procedure, whatever the body', (app) => post(app, '/trpc/secret', { body: '{', headers: TEXT })],
  ['method_not_allowed', 'a mutation by GET', (app) => app.fetch('/trpc/orders.cancel'), { allow: 'POST, OPTIONS' }],
  ['method_not_allowed', 'a query by POST', (app) => post(app, '/trpc/pets.get', { body: '{' }), { allow: 'GET, OPTIONS' }],
  ['method_not_allowed', 'PUT', (app) => app.fetch('/trpc/orders.cancel', { method: 'PUT' }), { allow: 'POST, OPTIONS' }],
  ['unsupported_media_type', 'another media type', (app) => cancel(app, 'secret', TEXT)],
  ['unsupported_media_type', 'no media type', (app) => cancel(app, new Blob(['{}']), {})],
  ['unsupported_media_type', 'an encoding', (app) => cancel(app, '{}', GZIP)],
  ['payload_too_large', 'a body that says so', (app) => cancel(app, ' '.repeat(1_048_577))],
  ['malformed_json', 'a body', (app) => cancel(app, '{"secret')],
  ['invalid_request', 'a batch that could never fit', sendTooManyCalls],
]; // biome-ignore format: a table

describe('every failure over tRPC is an error envelope with the documented code', () => {
  test.for(ROWS)('%s: %s', async ([code, , provoke, headers = {}]) => {
    const response = await provoke(shared);
    const text = await response.text();
    const { trpcCode, status } = ERROR_CATALOGUE[code];
    expect(JSON.parse(text)).toEqual({
      error: {
        json: {
          code: TRPC_ERROR_CODES_BY_KEY[trpcCode],
          message: expect.stringMatching(/\S/),
          data: { code: trpcCode, httpStatus: expect.any(Number), errorCode: code },
        },
      },
    });
    expect(response.status).toBe(status);
    expect(text).not.toMatch(/secret|stack/);
    const all = Object.fromEntries(response.headers);
    expect(all).toMatchObject({ 'content-type': 'application/json', 'x-request-id': expect.any(String), ...headers });
    expectRateLimitHeaders({ headers: all });
  });

  test('a body that exceeds the maximum is refused before its end, and the connection is closed', async () => {
    await using app = await startTestApp({ bounds: { maxBodyBytes: 100 } });
    using connection = await openRaw({ port: app.port });
    connection.write(
      `POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n${' '.repeat(128)}\r\n`,
    );
    const response = await connection.read();
    expect(response).toMatchObject({ status: 413, headers: { connection: 'close' } });
    expect(response.body).toContain('payload_too_large');
  });

  test.concurrent('an incomplete body is 408 after its time limit', async () => {
    await using app = await startTestApp({ bounds: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000 } });
    using connection = await openRaw({ port: app.port });
    connection.write(
      `POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    const response = await connection.read();
    expect(response).toMatchObject({
      status: 408,
      headers: { 'x-ratelimit-limit': '1000000000', connection: 'close' },
    });
    expect(response.body).toContain('request_timeout');
  });

  test.concurrent('a request whose client disconnects while the limiter is slow ends with 499', async ({ expect }) => {
    const gate = Promise.withResolvers<void>();
    const called = Promise.withResolvers<void>();
    const limiter = (real: RateLimiter) =>
      overriding(real, {
        async check(subject, cost) {
          called.resolve();
          await gate.promise;
          return real.check(subject, cost);
        },
      });
    await using app = await startTestApp({ wrap: { limiter } });
    app.app.server.once('connection', (socket: Socket) => socket.once('close', () => gate.resolve()));
    const connection = await openRaw({ port: app.port });
    connection.write(
      `POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await called.promise;
    connection.socket.resetAndDestroy();
    await expect
      .poll(() => app.observed, { timeout: 20_000 })
      .toMatchObject([{ operation: 'orders.cancel', status: 499 }]);
  });
});

test.each([
  ['pets.get', 'GET, OPTIONS', 1],
  ['orders.cancel', 'POST, OPTIONS', 1],
  ['pets.get,pets.get?batch=1', 'GET, OPTIONS', 2],
  ['pets.get,nothing?batch=1', 'GET, POST, OPTIONS', 2],
])('HEAD of %s is 405, with Allow: %s, and costs %i as any refusal of it does', async (path, allow, cost) => {
  const { text: key } = await createKey(persistence, { plan: planOf(10) });
  const { status, headers } = await shared.fetch(`/trpc/${path}`, { method: 'HEAD', key });
  expect([status, headers.get('allow'), headers.get('x-ratelimit-remaining')]).toEqual([405, allow, `${10 - cost}`]);
});

test.each(['text/plain', 'multipart/form-data; boundary=x', 'application/octet-stream', 'what/ever; x'])(
  'a query is served whatever the media type of the body that it has not: %s',
  async (type) => {
    for (const path of ['limits.current', 'limits.current,limits.current?batch=1']) {
      const { status, headers } = await shared.fetch(`/trpc/${path}`, { headers: { 'content-type': type } });
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    }
  },
);

describe('a batch', () => {
  test('costs as many units as it has calls, all or nothing', async () => {
    const { text: key } = await createKey(persistence, { plan: planOf(5) });
    const path = '/trpc/pets.get,pets.get,pets.get?batch=1&input=%7B%7D';
    const first = await shared.fetch(path, { key });
    expect(first.headers.get('x-ratelimit-remaining')).toBe('2');
    const second = await shared.fetch(path, { key });
    expect(second.status).toBe(429);
    expect((await shared.fetch('/trpc/pets.get,pets.get?batch=1', { key })).headers.get('x-ratelimit-remaining')).toBe(
      '0',
    );
  });

  test.each(['b%61tch=1', 'batch=1&batch=0', 'x=y&batch=%31'])('is charged as tRPC reads it: ?%s', async (search) => {
    const { text: key } = await createKey(persistence, { plan: planOf(5) });
    const response = await shared.fetch(`/trpc/pets.get,pets.get?${search}`, { key });
    expect(response.headers.get('x-ratelimit-remaining')).toBe('3');
    expect(await response.json()).toHaveLength(2);
  });

  test('OPTIONS lists the methods of its procedures', async () => {
    const options = async (names: string) =>
      (await shared.fetch(`/trpc/${names}?batch=1`, { method: 'OPTIONS' })).headers.get('allow');
    expect(await options('pets.get,orders.list')).toBe('GET, OPTIONS');
    expect(await options('orders.cancel')).toBe('POST, OPTIONS');
  });
});

const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);
const references = (items: number, paths: number) =>
  JSON.stringify({
    json: { a: indexes(items), b: 0 },
    meta: { values: { a: ['set'] }, referentialEqualities: { b: Array(paths).fill(`a.${items - 1}`) } },
  });
const typedArray = (type: string, of: unknown) =>
  JSON.stringify({
    json: { p: { a: 300_000_000 } },
    meta: { values: { p: { a: [['typed-array', type]] }, 'p.a': [of] } },
  });

/** Inputs that cost superjson seconds or gigabytes. Each stopped a server that passed it to superjson. */
const ATTACKS = {
  'a typed array as the root': '{"json":3000000000,"meta":{"values":[["typed-array","Uint8Array"]]}}',
  'a set of a typed array': typedArray('Uint8Array', 'set'),
  'references, within the size of an input': references(300, 400),
  'references, beyond the size of a request': references(69_000, 57_500),
  'a nested integer of many digits': JSON.stringify({
    json: { a: { b: '9'.repeat(3_900) } },
    meta: { values: { a: { b: ['bigint'] } } },
  }),
  'nesting, within the size of an input': `{"json":${'['.repeat(1_900)}${']'.repeat(1_900)}}`,
  'nesting, beyond it': `{"json":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
};

const send = (path: string, body: string) => post(shared, path, { body });

/** Sends an input in every way: as a body, in a URL, and in a batch. */
async function sendEachWay(body: string): Promise<readonly number[]> {
  const responses = [
    await send('/trpc/orders.cancel', body),
    await send('/trpc/orders.cancel,orders.cancel?batch=1', `{"1":${body}}`),
    await shared.fetch(`/trpc/v2.orders.list?input=${encodeURIComponent(body)}`),
    await shared.fetch(`/trpc/pets.get,pets.get?batch=1&input=${encodeURIComponent(`{"0":${body}}`)}`),
  ];
  await Promise.all(responses.map((response) => response.text()));
  return responses.map(({ status }) => status);
}

describe('an input with', () => {
  let before = 0;
  beforeAll(async () => {
    await shared.fetch('/trpc/orders.cancel', { method: 'POST' }); // loads what is loaded at first use
    before = await readMemoryInUse();
  });

  test.each(Object.entries(ATTACKS))('%s is refused at once, and leaves nothing in memory', async (_, body) => {
    const delay = monitorEventLoopDelay({ resolution: 20 });
    delay.enable();
    const statuses = await sendEachWay(body);
    delay.disable();
    for (const status of statuses) expect([207, 400, 413, 431]).toContain(status); // 207: its neighbour in a batch has no input
    // Not a claim of speed: a server that builds these values takes seconds, and hundreds of megabytes.
    expect(delay.max / 1e6).toBeLessThan(1_000);
    expect((await readMemoryInUse()) - before).toBeLessThan(30_000_000);
  });
});

describe('a tRPC request', () => {
  const input = (bytes: number) => `{"json":{"orderId":"${'x'.repeat(bytes - '{"json":{"orderId":""}}'.length)}"}}`;
  const codeOf = async (response: Response) => JSON.stringify(await response.json());

  test('may hold inputs of 4096 bytes, and 65536 bytes in all; more is 413', async () => {
    expect((await send('/trpc/orders.cancel', input(4_096))).status).toBe(400);
    const tooLarge = await send('/trpc/orders.cancel', input(4_097));
    expect(tooLarge.status).toBe(413);
    expect(await codeOf(tooLarge)).toContain('payload_too_large');
    const sixteen = (bytes: number) => `{${indexes(16).map((i) => `"${i}":${input(bytes)}`)}}`;
    const path = `/trpc/${Array(16).fill('orders.cancel').join()}?batch=1`;
    expect((await send(path, sixteen(4_000))).status).toBe(400);
    expect(sixteen(4_096).length).toBeGreaterThan(65_536);
    const whole = await send(path, sixteen(4_096));
    expect(whole.status).toBe(413);
    expect(await codeOf(whole)).toContain('payload_too_large');
  });

  test('may hold an input of 4096 bytes in its URL, too', async () => {
    const ask = (bytes: number) => shared.fetch(`/trpc/pets.get?input=${encodeURIComponent(input(bytes))}`);
    expect((await ask(4_096)).status).toBe(400);
    expect((await ask(4_097)).status).toBe(413);
  });
});

test('a call that announces JSON and sends no body is told what is missing', async () => {
  using connection = await openRaw({ port: shared.port });
  connection.write(
    `POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.unlimited.text}\r\nContent-Type: application/json\r\n\r\n`,
  );
  const { status, body } = await connection.read('POST');
  expect(status).toBe(400);
  expect(JSON.parse(body).error.json.data.errorCode).toBe('invalid_request');
});

test.each(['/trpc', '/trpc/nothing', '/trpc/orders.get'])(
  'POST of %s with the type of a body and no body is answered',
  async (path) => {
    await using app = await startTestApp();
    const headers = `Host: x\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\n\r\n`;
    const response = await sendOne(`POST ${path} HTTP/1.1\r\n${headers}`, { port: app.port, method: 'POST' });
    expect(response.status).toBe(path === '/trpc/orders.get' ? 405 : 404);
  },
);
