import type { Socket } from 'node:net';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import type { RateLimiter } from '@petstore/rate-limit';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { describe, expect, test } from 'vitest';
import { createKey, importPets, placeOrder, planOf } from '../support/database.ts';
import { expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw } from './support/raw-http.ts';
import { overriding } from './support/replaced-parts.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { mutate, query } from './support/trpc-calls.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const shared = await useTestApp();
const { persistence } = shared;
await importPets(persistence, [{ id: 1n, name: 'Ada' }]);

const post = (app: TestApp, path: string, init: Parameters<TestApp['fetch']>[1] = {}) =>
  app.fetch(path, { method: 'POST', headers: JSON_BODY, ...init });

describe('a call that succeeds', () => {
  test('pets.get returns the pet, its id as a bigint', async () => {
    const response = await query(shared, 'pets.get', { petId: 1n });
    expect(response).toMatchObject({ status: 200, data: { id: 1n, name: 'Ada' } });
    expectRateLimitHeaders({ headers: Object.fromEntries(response.headers) });
  });

  test('orders.cancel returns nothing', async () => {
    const { id } = await placeOrder(persistence);
    expect(await mutate(shared, 'orders.cancel', { orderId: id })).toMatchObject({ status: 200, data: undefined });
  });

  test('orders.place, ship and complete return the changed order to an internal key', async () => {
    const options = { key: shared.internalKey };
    const shipDate = new Date('2026-05-06T07:08:09.010Z');
    const placed = await mutate(shared, 'orders.place', { petId: 9n, quantity: 3, shipDate }, options);
    expect(placed.data).toMatchObject({
      id: expect.any(BigInt),
      petId: 9n,
      quantity: 3,
      shipDate,
      status: 'pending',
      placedAt: expect.any(Date),
    });
    const { id: orderId } = placed.data as { id: bigint }; // as the assertion above shows
    const shipped = await mutate(shared, 'orders.ship', { orderId }, options);
    expect(shipped.data).toMatchObject({
      id: orderId,
      status: 'shipped',
      complete: false,
      shippedAt: expect.any(Date),
    });
    const completed = await mutate(shared, 'orders.complete', { orderId }, options);
    expect(completed.data).toMatchObject({ id: orderId, status: 'shipped', complete: true });
  });
});

type Row = readonly [
  code: ErrorCode,
  what: string,
  provoke: (app: TestApp) => Promise<Response>,
  headers?: Readonly<Record<string, unknown>>,
];

/** Calls with a key of its own that may make so many requests in a minute, one after the other. */
async function callWithLimit(app: TestApp, perMinute: number, ...paths: readonly string[]): Promise<Response> {
  const { text: key } = await createKey(app.persistence, { plan: planOf(perMinute) });
  const responses: Response[] = [];
  for (const path of paths) responses.push(await app.fetch(path, { key }));
  return responses.at(-1) ?? Promise.reject(new Error('no path'));
}

const cancel = (app: TestApp, body: string | Blob, headers: Record<string, string> = JSON_BODY) =>
  post(app, '/trpc/orders.cancel', { body, headers });
const TEXT = { 'content-type': 'text/plain' };
const GZIP = { ...JSON_BODY, 'content-encoding': 'gzip' };
const SOME_SECONDS = expect.stringMatching(/^[1-9]\d*$/);

/** What is decided before or beside tRPC. The tests of the api have the rest. */
const ROWS: readonly Row[] = [
  ['missing_api_key', 'no key', (app) => app.fetch('/trpc/pets.get', { key: null })],
  ['invalid_api_key', 'a wrong key', (app) => app.fetch('/trpc/pets.get', { key: 'x' })],
  ['missing_api_key', 'no key, nowhere', (app) => app.fetch('/trpc', { key: null })],
  ['missing_api_key', 'no key, a batch', (app) => app.fetch('/trpc/a,b?batch=1', { key: null })],
  ['invalid_request', 'a malformed URL', (app) => app.fetch('/trpc/%zz')],
  ['route_not_found', 'no procedure', (app) => app.fetch('/trpc/secret.path')],
  ['route_not_found', 'a trailing slash', (app) => app.fetch('/trpc/pets.get/')],
  ['route_not_found', '/trpc itself', (app) => app.fetch('/trpc')],
  ['route_not_found', 'no procedure, whatever the body', (app) => post(app, '/trpc/secret', { body: '{', headers: TEXT })],
  ['method_not_allowed', 'a mutation by GET', (app) => app.fetch('/trpc/orders.cancel'), { allow: 'POST, OPTIONS' }],
  ['method_not_allowed', 'a query by POST', (app) => post(app, '/trpc/pets.get', { body: '{' }), { allow: 'GET, HEAD, OPTIONS' }],
  ['method_not_allowed', 'PUT', (app) => app.fetch('/trpc/orders.cancel', { method: 'PUT' }), { allow: 'POST, OPTIONS' }],
  ['unsupported_media_type', 'another media type', (app) => cancel(app, 'secret', TEXT)],
  ['unsupported_media_type', 'no media type', (app) => cancel(app, new Blob(['{}']), {})],
  ['unsupported_media_type', 'an encoding', (app) => cancel(app, '{}', GZIP)],
  ['payload_too_large', 'a body that says so', (app) => cancel(app, ' '.repeat(1_048_577))],
  ['malformed_json', 'a body', (app) => cancel(app, '{"secret')],
  ['rate_limit_exceeded', 'a limit', (app) => callWithLimit(app, 1, '/trpc/pets.get', '/trpc/pets.get'), { 'retry-after': SOME_SECONDS }],
  ['invalid_request', 'a batch that could never fit', (app) => callWithLimit(app, 2, '/trpc/pets.get,pets.get,pets.get?batch=1')],
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
    expect(await options('pets.get,orders.list')).toBe('GET, HEAD, OPTIONS');
    expect(await options('orders.cancel')).toBe('POST, OPTIONS');
  });
});

test('tRPC stays as strict after REST calls of the same procedures', async () => {
  const { id } = await placeOrder(persistence);
  await shared.fetch('/v1/pets/1');
  await shared.fetch(`/v1/store/orders/${id}`, { method: 'DELETE' });
  for (const orderId of ['5', 5, '0x10', '', true, null]) {
    const response = await mutate(shared, 'orders.cancel', { orderId });
    expect(response, String(orderId)).toMatchObject({ status: 400, error: { data: { errorCode: 'invalid_request' } } });
  }
  const loose = '{"json":{"orderId":"0x1"},"meta":{"values":{"orderId":["bigint"]}}}';
  expect((await post(shared, '/trpc/orders.cancel', { body: loose })).status).toBe(400);
});
