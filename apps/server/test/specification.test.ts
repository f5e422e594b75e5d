import { PLANS, type Plan } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { renderDocument } from '../src/http/render-document.ts';
import { expectError } from './http/support/expect-error.ts';
import { createBannedKey, PETS_SUNSET_AT, startTestApp, useTestApp } from './http/support/test-app.ts';
import { mutate, query } from './http/support/trpc-calls.ts';
import {
  createKey,
  importOrders,
  importPets,
  pendingOrder,
  placeOrder,
  planOf,
  type TestKey,
} from './support/database.ts';

// What the service does, statement by statement, in the order and below the headings of its specification. "Decided:" begins
// what the specification leaves open. The other tests hold the same promises in all their cases.

const app = await useTestApp();
const { persistence } = app;
/** More than is read at once. */
const GENERATED = 300;
await importPets(persistence, [{ id: 1n, name: 'Ada' }]);

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly object[];
  readonly requestBody?: object;
  readonly deprecated?: boolean;
  readonly responses: Readonly<Record<string, object>>;
}

/** The description of the interface, as the server gives it to anybody. */
const document = await (await app.fetch('/v1/openapi.json', { key: null })).json();
const operations: readonly (Operation & { readonly method: string; readonly path: string })[] = Object.entries(
  document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>, // of OpenAPI
).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ ...operation, method, path })));
const operationOf = (id: string) => operations.find(({ operationId }) => operationId === id);

const ORDERS = '/v1/store/orders';
const list = (key = app.key) => app.fetch(ORDERS, { key });
const listed = async (): Promise<readonly { readonly id: number }[]> => (await list()).json();
const cancel = (id: bigint | string, key: string | null = app.key) =>
  app.fetch(`${ORDERS}/${id}`, { method: 'DELETE', key });
const limitHeadersOf = ({ headers }: Response) => ({
  limit: headers.get('x-ratelimit-limit'),
  remaining: headers.get('x-ratelimit-remaining'),
  reset: headers.get('x-ratelimit-reset'),
});
const keyOf = (plan: Plan): Promise<TestKey> => createKey(persistence, { plan });

describe('What the service does', () => {
  test('It lists all orders placed in the store, and cancels one by its identifier: JSON over HTTP.', async () => {
    const { id } = await placeOrder(persistence);
    expect((await listed()).some((order) => BigInt(order.id) === id)).toBe(true);
    expect((await cancel(id)).status).toBe(204);
  });

  test('Both operations have the tag orders; the sections Store and Pets hold no operation.', () => {
    expect(operations.filter(({ tags }) => tags.includes('orders')).map(({ operationId }) => operationId)).toEqual([
      'listOrders',
      'cancelOrder',
    ]);
    expect(document.tags.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['Store', 'Pets']));
    expect(operations.flatMap(({ tags }) => tags)).not.toContain('Store');
    expect(operations.flatMap(({ tags }) => tags)).not.toContain('Pets');
  });

  test('It publishes no sites under domains of others: there is no such path.', () => {
    expect(Object.keys(document.paths)).toEqual(['/store/orders', '/store/orders/{orderId}', '/pets/{petId}']);
  });
});

describe('Resources and their fields', () => {
  describe('Order', () => {
    const { type, properties, required } = document.components.schemas.Order;

    test('It is an object of which no field is required.', () => {
      expect([type, required]).toEqual(['object', undefined]);
    });

    test.each([
      ['id', { type: 'integer', format: 'int64' }],
      ['petId', { type: 'integer', format: 'int64' }],
      ['quantity', { type: 'integer' }],
      ['shipDate', { type: 'string', format: 'date-time' }],
      ['complete', { type: 'boolean' }],
    ])('%s is described as %j.', (name, schema) => {
      expect(properties[name]).toMatchObject(schema);
    });

    test('Responses have these five fields and no other. Decided: no status; shipDate is in UTC, and left out if unknown.', async () => {
      const ids = [7_001n, 7_002n];
      await importOrders(persistence, [
        pendingOrder(7_001n, { quantity: 3, shipDate: new Date('2026-05-06T07:08:09.010Z') }),
        pendingOrder(7_002n),
      ]);
      expect((await listed()).filter(({ id }) => ids.includes(BigInt(id)))).toEqual([
        { id: 7001, petId: 7, quantity: 3, shipDate: '2026-05-06T07:08:09.010Z', complete: false },
        { id: 7002, petId: 7, quantity: 2, complete: false },
      ]);
    });

    test('Decided: ids are any 64-bit integers, with all their digits, and a quantity is 1 to 2,147,483,647.', async () => {
      await using own = await startTestApp();
      await importOrders(own.persistence, [
        pendingOrder(-(2n ** 63n), { quantity: 1 }),
        pendingOrder(2n ** 63n - 1n, { quantity: 2_147_483_647 }),
      ]);
      expect(await (await own.fetch(ORDERS)).text()).toBe(
        '[{"id":-9223372036854775808,"petId":7,"quantity":1,"complete":false},' +
          '{"id":9223372036854775807,"petId":7,"quantity":2147483647,"complete":false}]',
      );
      expect(properties.quantity).toMatchObject({ minimum: 1, maximum: 2_147_483_647 });
    });

    test('complete says that the order has been fulfilled.', async () => {
      const shipped = await placeOrder(persistence, 'ship');
      const completed = await placeOrder(persistence, 'ship', 'complete');
      const orders = await listed();
      expect(orders.find(({ id }) => BigInt(id) === shipped.id)).toMatchObject({ complete: false });
      expect(orders.find(({ id }) => BigInt(id) === completed.id)).toMatchObject({ complete: true });
    });
  });

  describe('Error', () => {
    test('It has a code for programs, a message for people, and the status of the response; all are required.', async () => {
      const { required, properties } = document.components.schemas.Error;
      expect(required).toEqual(['code', 'message', 'status']);
      expect(properties).toMatchObject({
        code: { type: 'string' },
        message: { type: 'string' },
        status: { type: 'integer' },
      });
      await expectError(await cancel(-1n), 'order_not_found'); // exactly these three, and the status
    });
  });
});

describe('States and transitions', () => {
  test('pending: cancelOrder cancels the order, and responds with 204 and no body.', async () => {
    const { id } = await placeOrder(persistence);
    const before = await listed();
    const response = await cancel(id);
    expect([response.status, await response.text(), response.headers.get('content-type')]).toEqual([204, '', null]);
    expect(await persistence.orders.findOrder(id)).toMatchObject({ status: 'cancelled' });
    expect(await listed()).toEqual(before); // decided: it was placed, and stays listed
  });

  test('shipped: cancelOrder changes nothing, and responds with 409.', async () => {
    const { id } = await placeOrder(persistence, 'ship');
    const before = await persistence.orders.findOrder(id);
    expect((await cancel(id)).status).toBe(409);
    expect(await persistence.orders.findOrder(id)).toEqual(before);
  });

  // Decided: the states are pending, shipped and cancelled. An order is placed as pending; a shipped one can become complete.
  // Nothing else happens to it. Placing, shipping and completing are for internal keys, over tRPC.
  test('Decided: cancelled: cancelOrder changes nothing, and responds with 409 and a code of its own.', async () => {
    const { id } = await placeOrder(persistence, 'cancel');
    await expectError(await cancel(id), 'order_already_cancelled');
  });

  test('Decided: internal services place, ship and complete orders; nobody does over REST, or with an external key.', async () => {
    const call = async (name: string, input: object, key = app.internalKey) => {
      const { data, error } = await mutate(app, `orders.${name}`, input, { key });
      return error?.data['errorCode'] ?? data;
    };
    const request = { petId: 7n, quantity: 1 };
    expect(await call('place', request, app.key)).toBe('insufficient_scope');
    for (const [method, path] of [
      ['POST', ORDERS],
      ['POST', `${ORDERS}/1`],
      ['POST', `${ORDERS}/1/ship`],
      ['PUT', `${ORDERS}/1`],
    ] as const) {
      const { status } = await app.fetch(path, { method, key: app.internalKey, body: '{}' });
      expect([404, 405]).toContain(status);
    }
    const placed = await call('place', request);
    expect(placed).toMatchObject({ status: 'pending', complete: false });
    const { id: orderId } = placed as { readonly id: bigint }; // an order
    expect(await call('complete', { orderId })).toBe('order_not_shipped');
    expect(await call('ship', { orderId })).toMatchObject({ status: 'shipped', complete: false });
    expect(await call('ship', { orderId })).toBe('order_already_shipped');
    expect(await call('complete', { orderId })).toMatchObject({ status: 'shipped', complete: true });
    expect(await call('complete', { orderId })).toBe('order_already_completed');
  });

  test('Decided: of any number who cancel an order at once, one succeeds.', async () => {
    const { id } = await placeOrder(persistence);
    const responses = await Promise.all(Array.from({ length: 20 }, () => cancel(id)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, ...Array(19).fill(409)]);
    for (const response of responses) if (!response.ok) await expectError(response, 'order_already_cancelled');
  });
});

describe('Endpoints', () => {
  test.each(operations.map(({ operationId, method, path }) => [operationId, method.toUpperCase(), path] as const))(
    '%s needs a key, and responds in JSON: 401 if the key is missing or invalid.',
    async (_, method, path) => {
      const url = `/v1${path.replaceAll(/\{\w+\}/g, '1')}`;
      await expectError(await app.fetch(url, { method, key: null }), 'missing_api_key'); // in JSON
      await expectError(await app.fetch(url, { method, key: 'invalid' }), 'invalid_api_key');
    },
  );

  describe('listOrders', () => {
    test('It is GET /store/orders, with the tag orders, without parameters and body.', () => {
      expect(operationOf('listOrders')).toMatchObject({ method: 'get', path: '/store/orders', tags: ['orders'] });
      expect(operationOf('listOrders')).not.toHaveProperty('parameters');
      expect(operationOf('listOrders')).not.toHaveProperty('requestBody');
    });

    test('200: it returns all orders in one response, an array. Decided: whatever their state, ascending by id.', async () => {
      await using own = await startTestApp({ orders: GENERATED });
      await importOrders(own.persistence, [{ ...pendingOrder(-5n), status: 'cancelled', cancelledAt: new Date() }]);
      const response = await own.fetch(ORDERS);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      const ids = ((await response.json()) as { id: number }[]).map(({ id }) => id); // of orders
      expect(ids).toEqual([-5, ...Array.from({ length: GENERATED }, (_, index) => index + 1)]);
    });

    test('200: without orders, the array is empty.', async () => {
      await using empty = await startTestApp();
      expect(await (await empty.fetch(ORDERS)).text()).toBe('[]');
    });

    test('It neither filters nor pages. Decided: unknown query parameters are ignored.', async () => {
      const all = (await listed()).length;
      expect(await (await app.fetch(`${ORDERS}?status=shipped&limit=1&page=2`)).json()).toHaveLength(all);
    });
  });

  describe('cancelOrder', () => {
    test('It is DELETE /store/orders/{orderId}, with the tag orders, a required 64-bit id, and no body.', () => {
      expect(operationOf('cancelOrder')).toMatchObject({
        method: 'delete',
        path: '/store/orders/{orderId}',
        tags: ['orders'],
        parameters: [{ in: 'path', name: 'orderId', required: true, schema: { type: 'integer', format: 'int64' } }],
      });
      expect(operationOf('cancelOrder')).not.toHaveProperty('requestBody');
    });

    test('Only a pending order can be cancelled: 204, or 409 after it has shipped.', async () => {
      expect((await cancel((await placeOrder(persistence)).id)).status).toBe(204);
      await expectError(await cancel((await placeOrder(persistence, 'ship')).id), 'order_already_shipped');
      await expectError(await cancel((await placeOrder(persistence, 'ship', 'complete')).id), 'order_already_shipped');
    });

    test('404: there is no such order.', async () => {
      await expectError(await cancel(2n ** 63n - 1n), 'order_not_found');
    });

    test.each(['9223372036854775808', '007', '1.0', 'x'])('Decided: 400: %s is no 64-bit integer.', async (id) => {
      await expectError(await cancel(id), 'invalid_request');
    });

    test('Decided: 403: a read-only key cancels nothing.', async () => {
      const { id } = await placeOrder(persistence);
      const { text } = await createKey(persistence, { readOnly: true });
      await expectError(await cancel(id, text), 'insufficient_scope');
    });
  });

  describe('Other operations', () => {
    test('GET /pets/{petId} exists, and is deprecated. Decided: it returns id and name.', async () => {
      expect(operationOf('getPetById')).toMatchObject({ method: 'get', path: '/pets/{petId}', deprecated: true });
      await importPets(persistence, [{ id: 9_007_199_254_740_993n, name: 'Žofie "Ž" 猫' }]);
      const response = await app.fetch('/v1/pets/9007199254740993');
      expect(await response.text()).toBe('{"id":9007199254740993,"name":"Žofie \\"Ž\\" 猫"}');
      expect(response.headers.get('content-type')).toBe('application/json');
    });

    test('Decided: there is no other operation on pets.', async () => {
      expect((await app.fetch('/v1/pets/1', { method: 'DELETE' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
      await expectError(await app.fetch('/v1/pets'), 'route_not_found');
    });
  });
});

describe('Authentication', () => {
  test('The scheme is HTTP bearer, for every operation.', () => {
    expect(document.security).toEqual([{ bearerAuth: [] }]);
    expect(document.components.securitySchemes.bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
    expect(operations.filter((operation) => 'security' in operation)).toEqual([]); // none differs
  });

  test('The key is sent as Authorization: Bearer <API_KEY>.', async () => {
    const response = await app.fetch(ORDERS, { headers: { authorization: `Bearer ${app.key}` } });
    expect(response.status).toBe(200);
  });

  test('Without a valid key the response is 401 with an Error object. Decided: it names the scheme.', async () => {
    const { headers } = await expectError(await list('pso_live_unknown'), 'invalid_api_key');
    expect(headers['www-authenticate']).toMatch(/^Bearer/);
    await expectError(await app.fetch(ORDERS, { headers: { authorization: 'Basic dXNlcjpwYXNz' } }), 'missing_api_key');
  });

  // Decided: an operator issues keys with `petstore keys create`, and can rotate and revoke them.
  test('Decided: a key that was revoked, or has expired, is like one that never was.', async () => {
    const expired = await createKey(persistence, { expiresAt: new Date(Date.now() - 1_000) });
    await expectError(await list(expired.text), 'invalid_api_key');
    const revoked = await createKey(persistence);
    await persistence.keyAdministration.revokeKey(revoked.id, new Date());
    await expectError(await list(revoked.text), 'invalid_api_key');
  });
});

describe('Events', () => {
  const CHANGES = ['order.placed', 'order.cancelled'];

  test('Decided: who follows changes of orders asks for them, and may wait. There are no webhooks.', async () => {
    const poll = async (query: string): Promise<{ events: readonly { type: string }[]; nextAfter: string }> =>
      (await app.fetch(`/v2/store/order-events${query}`)).json();
    const { nextAfter } = await poll('');
    await cancel((await placeOrder(persistence)).id);
    expect((await poll(`?after=${nextAfter}`)).events.map(({ type }) => type)).toEqual(CHANGES);
  });
});

describe('Errors', () => {
  test('401, 404, 409 and 429 have an Error object. Decided: so has every other failure.', async () => {
    const { id } = await placeOrder(persistence, 'ship');
    const { text: limited } = await keyOf(planOf(1));
    await list(limited);
    await expectError(await list('invalid'), 'invalid_api_key');
    await expectError(await cancel(-1n), 'order_not_found');
    await expectError(await cancel(id), 'order_already_shipped');
    await expectError(await list(limited), 'rate_limit_exceeded');
    await expectError(await app.fetch('/v1/nowhere'), 'route_not_found');
    await expectError(await app.fetch(ORDERS, { method: 'PUT' }), 'method_not_allowed');
  });

  test('Decided: the codes are a closed set, which the document lists.', () => {
    const codes: readonly string[] = document.components.schemas.Error.properties.code.enum;
    expect(codes).toEqual(
      expect.arrayContaining([
        ...['missing_api_key', 'invalid_api_key', 'order_not_found', 'order_already_shipped'],
        ...['order_already_cancelled', 'rate_limit_exceeded', 'api_key_banned'],
      ]),
    );
  });
});

describe('Limits', () => {
  describe('Rate limits by plan', () => {
    test.each([
      { label: 'Free', name: 'free', perMinute: 60, perDay: 1_000 },
      { label: 'Pro', name: 'pro', perMinute: 300, perDay: 10_000 },
      { label: 'Business', name: 'business', perMinute: 1_000, perDay: 100_000 },
    ] as const)(
      '$label: $perMinute requests per minute, $perDay per day.',
      async ({ label, name, perMinute, perDay }) => {
        expect(PLANS[name].label).toBe(label);
        const { text: key } = await keyOf({ name });
        expect(await query(app, 'limits.current', undefined, { key })).toMatchObject({
          data: { minute: { limit: perMinute }, day: { limit: perDay } },
        });
        expect(limitHeadersOf(await list(key))).toMatchObject({
          limit: String(perMinute),
          remaining: String(perMinute - 2),
        });
      },
    );

    test('Enterprise: as agreed for each key.', async () => {
      const { text: key } = await keyOf(planOf(7, 77));
      expect(await query(app, 'limits.current', undefined, { key })).toMatchObject({
        data: { minute: { limit: 7 }, day: { limit: 77 } },
      });
    });
  });

  describe('Rate limit headers', () => {
    test.each([
      ['200', 'GET', ORDERS, 'valid'],
      ['400', 'DELETE', `${ORDERS}/x`, 'valid'],
      ['401', 'GET', ORDERS, 'invalid'],
      ['404', 'GET', '/v1/nowhere', 'valid'],
      ['405', 'PUT', ORDERS, 'valid'],
    ])('%s: the response carries all three, in whole numbers.', async (status, method, path, key) => {
      const response = await app.fetch(path, { method, key: key === 'valid' ? app.key : key });
      expect(String(response.status)).toBe(status);
      for (const value of Object.values(limitHeadersOf(response))) expect(value).toMatch(/^\d+$/);
    });

    test('X-RateLimit-Limit is the limit in force, X-RateLimit-Remaining what is left of it, whatever the status.', async () => {
      const { text: key } = await keyOf(planOf(4));
      const seen: unknown[] = [];
      for (const path of [ORDERS, '/v1/x', `${ORDERS}/1`, ORDERS, ORDERS]) {
        const response = await app.fetch(path, { key });
        seen.push([response.status, limitHeadersOf(response).limit, limitHeadersOf(response).remaining]);
      }
      expect(seen).toEqual([
        [200, '4', '3'],
        [404, '4', '2'],
        [405, '4', '1'],
        [200, '4', '0'],
        [429, '4', '0'],
      ]);
    });

    // Decided: the headers tell of the window with the least left; RateLimit and RateLimit-Policy tell of both.
    test('X-RateLimit-Reset is when the limit resets, in Unix time: a request is admitted then.', async () => {
      await using own = await startTestApp();
      const { text: key } = await createKey(own.persistence, { plan: planOf(1) });
      const { reset } = limitHeadersOf(await own.fetch(ORDERS, { key }));
      const waitMs = Number(reset) * 1_000 - Date.now();
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(62_000);
      own.advanceLimiterClock(waitMs);
      expect((await own.fetch(ORDERS, { key })).status).toBe(200);
    });
  });

  describe('Exceeding the limit', () => {
    test('A request beyond the limit is 429, with Retry-After. Decided: in whole seconds, after which there is room.', async () => {
      await using own = await startTestApp();
      const { text: key } = await createKey(own.persistence, { plan: planOf(1) });
      await own.fetch(ORDERS, { key });
      const { headers } = await expectError(await own.fetch(ORDERS, { key }), 'rate_limit_exceeded');
      expect(headers['retry-after']).toMatch(/^[1-9]\d?$/);
      own.advanceLimiterClock(Number(headers['retry-after']) * 1_000);
      expect((await own.fetch(ORDERS, { key })).status).toBe(200);
    });

    // Clients back off exponentially: `never-banned.test.ts` of the client package holds that it does.

    test('Requests that go on after a 429 get the key banned for a while. Decided: a minute, then 5, 15 and 60.', async () => {
      await using own = await startTestApp();
      const key = await createBannedKey(own);
      const { headers } = await expectError(await own.fetch(ORDERS, { key }), 'api_key_banned');
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      const banned = await query(own, 'limits.current', undefined, { key });
      expect(banned.error?.data).toMatchObject({ errorCode: 'api_key_banned' });
      own.advanceLimiterClock(Math.max(60, Number(headers['retry-after'])) * 1_000);
      expect((await own.fetch(ORDERS, { key })).status).toBe(200);
    });

    test('A higher plan has higher limits.', async () => {
      const { id, text: key } = await keyOf(planOf(1));
      await list(key);
      await expectError(await list(key), 'rate_limit_exceeded');
      await persistence.keyAdministration.setPlan(id, { name: 'pro' }, new Date());
      app.forgetKey(id);
      expect(limitHeadersOf(await list(key))).toMatchObject({ limit: '300', remaining: '298' });
    });

    test('Decided: a day is any 24 hours, not one of the calendar; the headers are those of the day if it is used up.', async () => {
      await using own = await startTestApp();
      const { text: key } = await createKey(own.persistence, { plan: planOf(60, 2) });
      const look = () => own.fetch(ORDERS, { key });
      expect([(await look()).status, (await look()).status]).toEqual([200, 200]);
      const refused = await look();
      expect([refused.status, limitHeadersOf(refused).limit]).toEqual([429, '2']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000);
      own.advanceLimiterClock(23 * 3_600_000);
      expect((await look()).status).toBe(429);
      own.advanceLimiterClock(1.5 * 3_600_000);
      expect((await look()).status).toBe(200);
    });
  });
});

describe('Versioning', () => {
  test('v1 is the last segment of the base URLs of production and staging; the version of the document is 1.0.0.', async () => {
    const settings = {
      publicBaseUrl: 'https://api.petstore.example/v1',
      stagingBaseUrl: 'https://staging.petstore.example/v1',
      petsSunsetAt: PETS_SUNSET_AT,
    };
    const { servers, info } = JSON.parse(renderDocument('v1', settings).json);
    expect(servers.map(({ url }: { url: string }) => url)).toEqual([settings.publicBaseUrl, settings.stagingBaseUrl]);
    expect(info.version).toBe('1.0.0');
    expect(document.info.version).toBe('1.0.0');
    expect(document.servers[0].url).toMatch(/\/v1$/);
  });

  test('Filters and pages are for v2. Decided: a preview has them already.', async () => {
    const { id } = await placeOrder(persistence, 'ship');
    const response = await app.fetch('/v2/store/orders?status=shipped&limit=1000');
    const { orders }: { readonly orders: readonly { readonly id: string; readonly status: string }[] } =
      await response.json();
    expect(orders.map((order) => order.id)).toContain(String(id));
    expect(orders.filter(({ status }) => status !== 'shipped')).toEqual([]);
  });

  test('GET /pets/{petId} has a sunset date. Decided: a setting, told in every response; then it is 410.', async () => {
    const { headers } = await app.fetch('/v1/pets/1');
    expect(headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(headers.get('sunset')).toBe(PETS_SUNSET_AT.toUTCString());
    await using ended = await startTestApp({ petsSunsetAt: new Date(0) });
    await expectError(await ended.fetch('/v1/pets/1'), 'operation_sunset');
  });

  test('x-stability marks operations as experimental or beta. Decided: those of v2; an operation of v1 is neither.', async () => {
    const preview = await (await app.fetch('/v2/openapi.json', { key: null })).json();
    const marks = Object.values(preview.paths as Readonly<Record<string, object>>) // of OpenAPI
      .flatMap((item) => Object.values(item).map((operation) => operation['x-stability']));
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.filter((mark) => mark !== 'experimental' && mark !== 'beta')).toEqual([]);
    expect(operations.filter((operation) => 'x-stability' in operation)).toEqual([]);
  });
});
