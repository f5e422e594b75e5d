import type { Socket } from 'node:net';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import type { RateLimiter } from '@petstore/rate-limit';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/keys.ts';
import { overriding } from '../support/overriding.ts';
import { expectRateLimitHeaders } from './support/expect-error.ts';
import { importPets, placeOrder } from './support/orders.ts';
import { openRaw } from './support/raw-http.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { batchBody, encode, mutate, query } from './support/trpc-calls.ts';

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

interface Row {
  readonly code: ErrorCode;
  readonly what: string;
  readonly provoke: (app: TestApp) => Promise<Response>;
  readonly headers?: Readonly<Record<string, unknown>>;
}

const ship = (app: TestApp, orderId: bigint, key = app.internalKey) =>
  post(app, '/trpc/orders.ship', { body: encode({ orderId }), key });
const complete = (app: TestApp, orderId: bigint) =>
  post(app, '/trpc/orders.complete', { body: encode({ orderId }), key: app.internalKey });

const ROWS: readonly Row[] = [
  { code: 'missing_api_key', what: 'no key', provoke: (app) => app.fetch('/trpc/pets.get', { key: null }) },
  { code: 'invalid_api_key', what: 'a wrong key', provoke: (app) => app.fetch('/trpc/pets.get', { key: 'x' }) },
  { code: 'missing_api_key', what: 'no key, nowhere', provoke: (app) => app.fetch('/trpc', { key: null }) },
  { code: 'missing_api_key', what: 'no key, a batch', provoke: (app) => app.fetch('/trpc/a,b?batch=1', { key: null }) },
  { code: 'invalid_request', what: 'a malformed URL', provoke: (app) => app.fetch('/trpc/%zz') },
  { code: 'route_not_found', what: 'no procedure', provoke: (app) => app.fetch('/trpc/secret.path') },
  { code: 'route_not_found', what: 'a trailing slash', provoke: (app) => app.fetch('/trpc/pets.get/') },
  { code: 'route_not_found', what: '/trpc itself', provoke: (app) => app.fetch('/trpc') },
  {
    code: 'route_not_found',
    what: 'no procedure, whatever the body',
    provoke: (app) => post(app, '/trpc/secret', { body: '{', headers: { 'content-type': 'text/plain' } }),
  },
  {
    code: 'method_not_allowed',
    what: 'a mutation by GET',
    provoke: (app) => app.fetch('/trpc/orders.cancel'),
    headers: { allow: 'POST, OPTIONS' },
  },
  {
    code: 'method_not_allowed',
    what: 'a query by POST',
    provoke: (app) => post(app, '/trpc/pets.get', { body: '{' }),
    headers: { allow: 'GET, HEAD, OPTIONS' },
  },
  {
    code: 'method_not_allowed',
    what: 'PUT',
    provoke: (app) => app.fetch('/trpc/orders.cancel', { method: 'PUT' }),
    headers: { allow: 'POST, OPTIONS' },
  },
  {
    code: 'unsupported_media_type',
    what: 'another media type',
    provoke: (app) => post(app, '/trpc/orders.cancel', { body: 'secret', headers: { 'content-type': 'text/plain' } }),
  },
  {
    code: 'unsupported_media_type',
    what: 'no media type',
    provoke: (app) => post(app, '/trpc/orders.cancel', { body: new Blob(['{}']), headers: {} }),
  },
  {
    code: 'unsupported_media_type',
    what: 'an encoding',
    provoke: (app) =>
      post(app, '/trpc/orders.cancel', { body: '{}', headers: { ...JSON_BODY, 'content-encoding': 'gzip' } }),
  },
  {
    code: 'payload_too_large',
    what: 'a body that says so',
    provoke: (app) => post(app, '/trpc/orders.cancel', { body: ' '.repeat(1_048_577) }),
  },
  { code: 'malformed_json', what: 'a body', provoke: (app) => post(app, '/trpc/orders.cancel', { body: '{"secret' }) },
  { code: 'malformed_json', what: 'an input', provoke: (app) => app.fetch('/trpc/pets.get?input={"secret') },
  { code: 'invalid_request', what: 'no input', provoke: (app) => app.fetch('/trpc/pets.get') },
  {
    code: 'invalid_request',
    what: 'a number for a bigint',
    provoke: (app) => app.fetch(`/trpc/pets.get?input=${encodeURIComponent('{"json":{"petId":1}}')}`),
  },
  {
    code: 'pet_not_found',
    what: 'no pet',
    provoke: (app) => app.fetch(`/trpc/pets.get?input=${encodeURIComponent(encode({ petId: 404n }))}`),
  },
  { code: 'insufficient_scope', what: 'an external key', provoke: (app) => ship(app, 1n, app.key) },
  {
    code: 'order_already_shipped',
    what: 'shipping twice',
    provoke: async (app) => ship(app, (await placeOrder(app.persistence, 'ship')).id),
  },
  {
    code: 'order_not_shipped',
    what: 'completing what is pending',
    provoke: async (app) => complete(app, (await placeOrder(app.persistence)).id),
  },
  {
    code: 'order_already_completed',
    what: 'completing twice',
    provoke: async (app) => complete(app, (await placeOrder(app.persistence, 'ship', 'complete')).id),
  },
  {
    code: 'rate_limit_exceeded',
    what: 'a limit',
    async provoke(app) {
      const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
      await app.fetch('/trpc/pets.get', { key });
      return app.fetch('/trpc/pets.get', { key });
    },
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
  {
    code: 'invalid_request',
    what: 'a batch that could never fit',
    async provoke(app) {
      const { text: key } = await createKey(app.persistence, { plan: planOf(2) });
      return app.fetch('/trpc/pets.get,pets.get,pets.get?batch=1', { key });
    },
  },
];

describe('every failure over tRPC is an error envelope with the documented code', () => {
  test.each(ROWS)('$code: $what', async ({ code, provoke, headers = {} }) => {
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

  test('has a result for each call', async () => {
    const { id } = await placeOrder(persistence);
    const response = await post(shared, '/trpc/orders.cancel,orders.cancel,orders.nothing?batch=1', {
      body: batchBody([{ orderId: id }, { orderId: 404n }, {}]),
    });
    expect(response.status).toBe(207);
    expect(await response.json()).toMatchObject([
      { result: {} },
      { error: { json: { data: { errorCode: 'order_not_found' } } } },
      { error: { json: { data: { errorCode: 'route_not_found' } } } },
    ]);
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
