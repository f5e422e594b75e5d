import { createPetstoreClient, petstoreErrorOf } from '@petstore/client';
import { createPetstoreRestClient, PetstoreError } from '@petstore/client/rest';
import { createTestService, type TestService, type TestServiceOptions } from '@petstore/client/testing';
import { manualClock } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planOf } from '../src/testing/keys-in-memory.ts';
import { restoreTestOrders } from '../src/testing/restore-test-orders.ts';
import { startTestApp } from './http/support/test-app.ts';
import { createKey, importOrders, importPets } from './support/database.ts';

/** A service that keeps the promises, and its clock. */
interface PromisedService extends TestService, AsyncDisposable {
  advanceClock(milliseconds: number): void;
}

type OpenOptions = Pick<TestServiceOptions, 'orders' | 'plan'>;

/** The services of which all is promised alike: that of PostgreSQL and Redis, and that for the tests of callers. */
const PROMISED_SERVICES: readonly (readonly [
  name: string,
  open: (options?: OpenOptions) => Promise<PromisedService>,
])[] = [
  ['the server', openServer],
  ['the service for tests', openTestService],
];

async function openServer({ orders = [], plan }: OpenOptions = {}): Promise<PromisedService> {
  const clock = manualClock(new Date().toISOString());
  const app = await startTestApp({ clock });
  const { persistence } = app;
  await importOrders(persistence, restoreTestOrders(orders, clock()));
  await importPets(persistence, [{ id: 1n, name: 'Rex' }]);
  const keyOf = async (facts: Partial<Parameters<typeof createKey>[1]>) =>
    (await createKey(persistence, { ...facts, plan: planOf(plan) })).text;
  const close = async () => app[Symbol.asyncDispose]();
  return {
    fetch(input, init) {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input);
      return fetch(app.origin + pathname + search, init);
    },
    apiKey: await keyOf({ kind: 'internal' }),
    readOnlyKey: await keyOf({ readOnly: true }),
    externalKey: await keyOf({}),
    advanceClock(milliseconds) {
      clock.advance(milliseconds);
      app.advanceLimiterClock(milliseconds);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openTestService(options: OpenOptions = {}): Promise<PromisedService> {
  const clock = manualClock(new Date().toISOString());
  const service = createTestService({ ...options, now: clock });
  return {
    ...service,
    advanceClock: (milliseconds) => clock.advance(milliseconds),
    [Symbol.asyncDispose]: service.close,
  };
}

/** A base URL as callers behind a proxy have it: the service is found whatever it is. */
const BASE_URL = 'https://petstore.example/v1';

const SHIP_DATE = new Date('2026-12-01T09:30:00.000Z');
const ORDERS = [
  { id: 1n, petId: 7n, quantity: 2, shipDate: SHIP_DATE },
  { id: 2n, status: 'shipped' },
  { id: 3n, complete: true },
  { id: 4n, status: 'cancelled' },
  { id: -(2n ** 63n), petId: 2n ** 63n - 1n, quantity: 2_147_483_647 },
] as const;

const rest = ({ fetch }: PromisedService, apiKey: string) =>
  createPetstoreRestClient({ baseUrl: BASE_URL, apiKey, fetch, maxRetries: 0 });
const trpc = ({ fetch, apiKey }: PromisedService, key = apiKey) =>
  createPetstoreClient({ baseUrl: BASE_URL, apiKey: key, fetch, maxRetries: 0 });

/** Sends a request as any program does, with the external key unless another is given, or null. */
const send = (service: PromisedService, method: string, path: string, key: string | null = service.externalKey) =>
  service.fetch(new URL(path, BASE_URL), { method, headers: key === null ? {} : { authorization: `Bearer ${key}` } });

/** The code with which a call fails. */
async function failureOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return (error instanceof PetstoreError ? error : petstoreErrorOf(error))?.code;
  }
}

const limitHeadersOf = ({ headers }: Response) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));

describe.each(PROMISED_SERVICES)('%s', (_, open) => {
  describe('over REST', () => {
    test('lists every order whatever became of it, ascending by id, with all digits, and without a status', async () => {
      await using service = await open({ orders: ORDERS });
      const response = await send(service, 'GET', '/v1/store/orders');
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.text()).toBe(
        '[{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":2147483647,"complete":false},' +
          '{"id":1,"petId":7,"quantity":2,"shipDate":"2026-12-01T09:30:00.000Z","complete":false},' +
          '{"id":2,"petId":1,"quantity":1,"complete":false},' +
          '{"id":3,"petId":1,"quantity":1,"complete":true},' +
          '{"id":4,"petId":1,"quantity":1,"complete":false}]',
      );
    });

    test('cancels a pending order once, and no other', async () => {
      await using service = await open({ orders: ORDERS });
      const { cancelOrder } = rest(service, service.externalKey);
      const response = await send(service, 'DELETE', '/v1/store/orders/1');
      expect([response.status, await response.text()]).toEqual([204, '']);
      expect(await failureOf(cancelOrder({ orderId: 1n }))).toBe('order_already_cancelled');
      expect(await failureOf(cancelOrder({ orderId: 2n }))).toBe('order_already_shipped');
      expect(await failureOf(cancelOrder({ orderId: 3n }))).toBe('order_already_shipped');
      expect(await failureOf(cancelOrder({ orderId: 99n }))).toBe('order_not_found');
    });

    test('finds a pet, and says that this is deprecated', async () => {
      await using service = await open();
      const response = await send(service, 'GET', '/v1/pets/1');
      expect(await response.text()).toBe('{"id":1,"name":"Rex"}');
      expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(response.headers.get('sunset')).toMatch(/ GMT$/);
      expect(await failureOf(rest(service, service.externalKey).getPetById({ petId: 2n }))).toBe('pet_not_found');
    });

    test('keeps the id of a request, and responds to HEAD and OPTIONS without a body', async () => {
      await using service = await open({ orders: ORDERS });
      const headers = { authorization: `Bearer ${service.externalKey}`, 'x-request-id': 'mine-7' };
      const head = await service.fetch(`${BASE_URL}/store/orders`, { method: 'HEAD', headers });
      expect([head.status, head.headers.get('x-request-id'), await head.text()]).toEqual([200, 'mine-7', '']);
      const options = await service.fetch(`${BASE_URL}/store/orders`, { method: 'OPTIONS', headers });
      expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
    });

    test('reads pages of v2 by filters, and single orders', async () => {
      await using service = await open({ orders: ORDERS });
      const { v2 } = rest(service, service.externalKey);
      const idsOf = async (filter: Parameters<typeof v2.listOrders>[0]) =>
        (await v2.listOrders(filter).toArray()).map(({ id }) => id);
      expect(await idsOf({ limit: 2 })).toEqual([-(2n ** 63n), 1n, 2n, 3n, 4n]);
      expect(await idsOf({ status: 'shipped', order: 'desc' })).toEqual([3n, 2n]);
      expect(await idsOf({ petId: 7n })).toEqual([1n]);
      expect(await v2.getOrder({ orderId: 4n })).toMatchObject({ id: 4n, status: 'cancelled' });
      await v2.cancelOrder({ orderId: 1n });
      expect(await v2.getOrder({ orderId: 1n })).toMatchObject({ status: 'cancelled' });
    });

    test('serves the document without a key', async () => {
      await using service = await open();
      const response = await send(service, 'GET', '/v1/openapi.json', null);
      expect(await response.json()).toMatchObject({
        openapi: expect.stringMatching(/^3\.1/),
        info: { version: '1.0.0' },
      });
      expect(await (await send(service, 'GET', '/v2/openapi.yaml', null)).text()).toMatch(/^openapi: /);
    });
  });

  describe('refuses', () => {
    let service: PromisedService;
    beforeAll(async () => {
      service = await open({ orders: ORDERS });
    });
    afterAll(() => service.close());

    test.each<[request: string, key: 'none' | 'unknown' | 'externalKey' | 'readOnlyKey', status: number, code: string]>(
      [
        ['GET /v1/store/orders', 'none', 401, 'missing_api_key'],
        ['GET /v1/store/orders', 'unknown', 401, 'invalid_api_key'],
        ['GET /v1/nowhere', 'none', 401, 'missing_api_key'],
        ['DELETE /v1/store/orders/1', 'readOnlyKey', 403, 'insufficient_scope'],
        ['GET /v1/nowhere', 'externalKey', 404, 'route_not_found'],
        ['GET /v1/store/orders/', 'externalKey', 404, 'route_not_found'],
        ['POST /v1/store/orders', 'externalKey', 405, 'method_not_allowed'],
        ['DELETE /v1/store/orders/007', 'externalKey', 400, 'invalid_request'],
        ['DELETE /v1/store/orders/9223372036854775808', 'externalKey', 400, 'invalid_request'],
        ['GET /v2/store/orders?limit=0', 'externalKey', 400, 'invalid_request'],
        ['GET /v2/store/orders/99', 'externalKey', 404, 'order_not_found'],
      ],
    )('%s with the key %s: %i %s', async (request, key, status, code) => {
      const [method = '', path = ''] = request.split(' ');
      const keys = { ...service, none: null, unknown: 'pso_live_unknown' };
      const response = await send(service, method, path, keys[key]);
      expect(await response.json()).toEqual({ code, message: expect.stringMatching(/\S/), status });
      expect(response.status).toBe(status);
      expect(limitHeadersOf(response)).toEqual(Array(3).fill(expect.stringMatching(/^\d+$/)));
      expect(response.headers.has('www-authenticate')).toBe(status === 401 || status === 403);
      expect(response.headers.has('allow')).toBe(status === 405);
    });
  });

  describe('limits', () => {
    test('are shown, reached, and free again after a minute', async () => {
      await using service = await open({ plan: { perMinute: 2, perDay: 100 } });
      const list = () => send(service, 'GET', '/v1/store/orders');
      expect(limitHeadersOf(await list())).toEqual(['2', '1', expect.any(String)]);
      expect((await list()).status).toBe(200);
      const refused = await list();
      expect(await refused.json()).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
      const retryAfter = Number(refused.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(61);
      // Each key has its own.
      expect((await send(service, 'GET', '/v1/store/orders', service.readOnlyKey)).status).toBe(200);
      service.advanceClock(retryAfter * 1_000);
      expect((await list()).status).toBe(200);
    });

    test('are those of a plan', async () => {
      await using service = await open({ plan: 'pro' });
      expect(await trpc(service).limits.current.query()).toMatchObject({
        minute: { limit: 300, used: 1 },
        day: { limit: 10_000, used: 1 },
      });
    });

    test('are told over REST, by a request like any other', async () => {
      await using service = await open({ plan: { perMinute: 3, perDay: 100 } });
      const { v2, listOrders } = rest(service, service.externalKey);
      expect(await v2.limits()).toMatchObject({ minute: { limit: 3, used: 1, remaining: 2 }, day: { used: 1 } });
      await listOrders().toArray();
      expect(await v2.limits()).toMatchObject({ minute: { used: 3, remaining: 0 } });
      expect(await failureOf(v2.limits())).toBe('rate_limit_exceeded');
    });

    test('count each call of a batch', async () => {
      await using service = await open({ orders: ORDERS, plan: { perMinute: 10, perDay: 100 } });
      const { pets, limits } = trpc(service);
      await Promise.all([pets.get.query({ petId: 1n }), pets.get.query({ petId: 1n }), pets.get.query({ petId: 1n })]);
      expect(await limits.current.query()).toMatchObject({ minute: { used: 4 } });
    });

    test('ban a key whose refusals go on', async () => {
      await using service = await open({ plan: { perMinute: 1, perDay: 1_000 } });
      const codes: string[] = [];
      for (let sent = 0; sent <= 252; sent++) {
        const response = await send(service, 'GET', '/v1/store/orders');
        if (!response.ok) codes.push((await response.json()).code);
      }
      expect(codes.indexOf('api_key_banned')).toBe(250);
      service.advanceClock(2 * 60_000);
      expect((await send(service, 'GET', '/v1/store/orders')).status).toBe(200);
    });
  });

  describe('over tRPC', () => {
    test('places, ships and completes an order', async () => {
      await using service = await open({ orders: ORDERS });
      const { orders } = trpc(service);
      const placed = await orders.place.mutate({ petId: 7n, quantity: 3, shipDate: SHIP_DATE });
      expect(placed).toMatchObject({ id: 5n, petId: 7n, quantity: 3, shipDate: SHIP_DATE, status: 'pending' });
      const orderId = placed.id;
      expect(await failureOf(orders.complete.mutate({ orderId }))).toBe('order_not_shipped');
      expect(await orders.ship.mutate({ orderId })).toMatchObject({ status: 'shipped', shippedAt: expect.any(Date) });
      expect(await failureOf(orders.cancel.mutate({ orderId }))).toBe('order_already_shipped');
      expect(await orders.complete.mutate({ orderId })).toMatchObject({ complete: true });
      expect(await failureOf(orders.complete.mutate({ orderId }))).toBe('order_already_completed');
      expect(await orders.get.query({ orderId })).toMatchObject({ status: 'shipped', complete: true });
      expect(await failureOf(orders.get.query({ orderId: 99n }))).toBe('order_not_found');
    });

    test('places one order for an idempotency key', async () => {
      await using service = await open();
      const { orders } = trpc(service);
      const request = { petId: 7n, quantity: 3, idempotencyKey: 'sale 1207' };
      const placed = await orders.place.mutate(request);
      await orders.cancel.mutate({ orderId: placed.id });
      expect(await orders.place.mutate(request)).toEqual(placed);
      expect(await failureOf(orders.place.mutate({ ...request, quantity: 4 }))).toBe('idempotency_key_reused');
      service.advanceClock(25 * 3_600_000);
      expect((await orders.place.mutate(request)).id).not.toBe(placed.id);
    });

    test('refuses internal procedures to other keys, changes to read-only keys, and wrong inputs', async () => {
      await using service = await open({ orders: ORDERS });
      const request = { petId: 7n, quantity: 3 };
      expect(await failureOf(trpc(service, service.externalKey).orders.place.mutate(request))).toBe(
        'insufficient_scope',
      );
      expect(await failureOf(trpc(service, service.readOnlyKey).orders.cancel.mutate({ orderId: 1n }))).toBe(
        'insufficient_scope',
      );
      expect(await failureOf(trpc(service).orders.place.mutate({ ...request, quantity: 0 }))).toBe('invalid_request');
      expect(await failureOf(trpc(service, 'pso_live_unknown').orders.get.query({ orderId: 1n }))).toBe(
        'invalid_api_key',
      );
      await trpc(service, service.externalKey).orders.cancel.mutate({ orderId: 1n });
    });

    test('lists orders in batches of 50, and as one array to a link that does not stream', async () => {
      const many = Array.from({ length: 620 }, (_, index) => ({ id: BigInt(index + 1) }));
      await using service = await open({ orders: many });
      const sizes: number[] = [];
      for await (const batch of await trpc(service).orders.list.query()) sizes.push(batch.length);
      expect(sizes.every((size) => size <= 50)).toBe(true);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(620);
      expect(await rest(service, service.externalKey).listOrders().toArray()).toHaveLength(620);
      const whole = await (await send(service, 'GET', '/trpc/orders.list')).json();
      expect(whole.result.data.json).toHaveLength(620);
    });
  });

  describe('events', () => {
    test('are followed from the beginning, from a position and from now on', async () => {
      await using service = await open({ orders: [{ id: 1n }, { id: 2n, status: 'shipped' }] });
      const client = trpc(service);
      const followed: string[] = [];
      for await (const { id, type, orderId, order } of client.events({ after: '0' })) {
        followed.push(`${id} ${type} ${orderId} ${order.status}`);
        if (id === '2') await client.orders.cancel.mutate({ orderId: 1n });
        if (id === '3') await client.orders.place.mutate({ petId: 7n, quantity: 1 });
        if (id === '4') break;
      }
      expect(followed).toEqual([
        '1 order.imported 1 pending',
        '2 order.imported 2 shipped',
        '3 order.cancelled 1 cancelled',
        '4 order.placed 3 pending',
      ]);
      for await (const { id } of client.events({ after: '3' })) {
        expect(id).toBe('4');
        break;
      }
      const onBegin = async (position: string) => {
        expect(position).toBe('4');
        await client.orders.ship.mutate({ orderId: 3n });
      };
      for await (const { id, type } of client.events({ onBegin })) {
        expect([id, type]).toEqual(['5', 'order.shipped']);
        break;
      }
    });

    test('are polled with keys of every kind, page by page, from a position on', async () => {
      await using service = await open({ orders: [{ id: 1n }, { id: 2n, status: 'shipped' }] });
      const poll = async (query: string, key?: string) =>
        (await send(service, 'GET', `/v2/store/order-events${query}`, key)).json();
      expect(await poll('')).toEqual({ events: [], nextAfter: '2' });
      await rest(service, service.externalKey).cancelOrder({ orderId: 1n });
      const time = expect.stringMatching(/^\d{4}-.*Z$/);
      const state = { status: 'cancelled', placedAt: time, cancelledAt: time };
      const cancelled = {
        id: '3',
        type: 'order.cancelled',
        orderId: '1',
        at: time,
        order: { id: '1', petId: '1', quantity: 1, complete: false, ...state },
      };
      expect(await poll('?after=2', service.readOnlyKey)).toEqual({ events: [cancelled], nextAfter: '3' });
      expect(await poll('?after=3')).toEqual({ events: [], nextAfter: '3' });
      const first = await poll('?after=0&limit=2', service.apiKey);
      expect(first).toMatchObject({ events: [{ type: 'order.imported' }, { type: 'order.imported' }], nextAfter: '2' });
      expect(await poll('?after=4')).toMatchObject({ code: 'invalid_request', status: 400 });

      for await (const { id, order } of rest(service, service.readOnlyKey).v2.orderEvents({ after: '2' })) {
        expect([id, order.status]).toEqual(['3', 'cancelled']);
        break;
      }
    });

    test('are followed from positions that there are', async () => {
      await using service = await open();
      const next = (key: string, after: string) => trpc(service, key).events({ after }).next();
      expect(await failureOf(next(service.apiKey, '7'))).toBe('invalid_request');
      expect(await failureOf(next(service.apiKey, 'x'))).toBe('invalid_request');
    });
  });
});
