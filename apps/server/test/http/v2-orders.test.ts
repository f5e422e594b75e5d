import { INT64_MAX, INT64_MIN, type OrderId, petId } from '@petstore/domain';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKey, importOrders, pendingOrder, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type TestApp, useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const SHOP = 'https://shop.example';
const LAST = new Date('9999-12-31T23:59:59.999Z');
const app = await useTestApp({ corsOrigins: [SHOP] });
const get = (query = '', init: Parameters<TestApp['fetch']>[1] = {}) => app.fetch(`/v2/store/orders${query}`, init);

/** Where a page leads, as a client finds it: relative to where the page came from. */
function linkOf(response: Response, rel: 'next' | 'first'): string | undefined {
  const target = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(response.headers.get('link') ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, response.url).href.slice(app.origin.length);
}

async function readAll(path: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response = await app.fetch(next);
    expect(response.status).toBe(200);
    ids.push(...Array.from((await response.text()).matchAll(/"id":"(-?\d+)"/g), ([, id]) => id ?? ''));
    next = linkOf(response, 'next');
  }
  return ids;
}

const ids: OrderId[] = [];
beforeAll(async () => {
  await importOrders(app.persistence, [
    pendingOrder(INT64_MAX, { petId: petId(INT64_MIN) }),
    pendingOrder(INT64_MIN, { shipDate: LAST }),
  ]);
  for (const commands of [[], ['ship'], ['ship', 'complete'], ['cancel'], [], []] as const) {
    ids.push((await placeOrder(app.persistence, ...commands)).id);
  }
});

describe('200: a page of orders', () => {
  test('holds them with their status, ascending by id, ids as strings', async () => {
    const response = await get('?limit=4');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe(
      `[{"id":"${INT64_MIN}","petId":"7","quantity":2,"shipDate":"9999-12-31T23:59:59.999Z","complete":false,"status":"pending"},` +
        `{"id":"${ids[0]}","petId":"7","quantity":1,"complete":false,"status":"pending"},` +
        `{"id":"${ids[1]}","petId":"7","quantity":1,"complete":false,"status":"shipped"},` +
        `{"id":"${ids[2]}","petId":"7","quantity":1,"complete":true,"status":"shipped"}]`,
    );
    expectRateLimitHeaders({ headers: Object.fromEntries(response.headers) });
    expect(response.headers.get('x-request-id')).toMatch(/^[\w-]+$/);
  });

  test('links to the next page and to the first, and the last page to the first alone', async () => {
    const first = await get('?limit=5');
    expect(first.headers.get('link')).toMatch(/^<\?limit=5&cursor=[\w-]{24}>; rel="next", <\?limit=5>; rel="first"$/);
    const second = await app.fetch(linkOf(first, 'next') ?? '');
    expect(second.headers.get('link')).toBe('<?limit=5>; rel="first"');
    expect(linkOf(second, 'first')).toBe('/v2/store/orders?limit=5');
    expect(await (await app.fetch('/v2/store/orders?limit=5')).text()).toBe(await first.text());
  });

  test('of any size leads through all orders, each exactly once', async () => {
    const all = [INT64_MIN, ...ids, INT64_MAX].map(String);
    for (const limit of [1, 2, 3, 7, 8, 9, 1000]) expect(await readAll(`/v2/store/orders?limit=${limit}`)).toEqual(all);
    expect(await readAll('/v2/store/orders')).toEqual(all);
  });

  test('may be empty', async () => {
    const response = await get('?petId=404');
    expect([response.status, await response.text(), response.headers.get('link')]).toEqual([
      200,
      '[]',
      '<?limit=100&petId=404>; rel="first"',
    ]);
  });

  test('is one order over REST and tRPC', async () => {
    const rest = await get('?limit=3&status=pending');
    const trpc = await query(app, 'v2.orders.list', { limit: 3, status: ['pending'] });
    const cursor = new URL(linkOf(rest, 'next') ?? '', app.origin).searchParams.get('cursor');
    const orders = [INT64_MIN, ids[0], ids[4]].map((id) => ({ id }));
    expect(trpc.data).toMatchObject({ orders, nextCursor: cursor });
    const next = await query(app, 'v2.orders.list', { status: ['pending'], cursor });
    expect(next.data).toMatchObject({ orders: [{ id: ids[5], status: 'pending' }, { id: INT64_MAX }] });
  });

  test('has the same headers for HEAD as for GET, its links included, and no body', async () => {
    const [whole, head] = [await get('?limit=1'), await get('?limit=1', { method: 'HEAD' })];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['link', 'content-type', 'content-length']) {
      expect(head.headers.get(name), name).toBe(whole.headers.get(name));
    }
  });

  test('can be read with its links by a page of an allowed origin', async () => {
    const response = await get('?limit=1', { headers: { origin: SHOP } });
    expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect(response.headers.get('access-control-expose-headers')).toMatch(/\bLink\b/);
    const preflight = await get('', {
      method: 'OPTIONS',
      key: null,
      headers: { origin: SHOP, 'access-control-request-method': 'GET' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, SHOP]);
  });

  test('costs one request, over tRPC too', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const rest = await get('?limit=1000', { key });
    const trpc = await query(app, 'v2.orders.list', {}, { key });
    expect([rest, trpc].map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['9', '8']);
  });
});

describe('one order', () => {
  const find = (id: unknown, init: Parameters<TestApp['fetch']>[1] = {}) => app.fetch(`/v2/store/orders/${id}`, init);

  test('is what it is in the list, whatever its state', async () => {
    for (const id of [INT64_MIN, ...ids, INT64_MAX]) {
      const response = await find(id);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(await (await get('?limit=100')).text()).toContain(await response.text());
      expectRateLimitHeaders({ headers: Object.fromEntries(response.headers) });
    }
  });

  test('is the same over tRPC, with its times', async () => {
    const { data } = await query(app, 'orders.get', { orderId: ids[2] });
    expect(data).toMatchObject({ id: ids[2], status: 'shipped', complete: true, completedAt: expect.any(Date) });
    expect(JSON.parse(await (await find(ids[2])).text())).toMatchObject({ status: 'shipped', complete: true });
  });

  test('takes no parameters', async () => {
    await expectError(await find('1?x=1'), 'invalid_request');
  });
});

describe('400: an invalid parameter', () => {
  test.each([
    ['?limit=0', 'limit: must be a whole number from 1 to 1000.'],
    [
      '?status=pending,shipped',
      'status: must be one of pending, shipped, cancelled (in a query, repeat the parameter for several: status=pending&status=shipped).',
    ],
    ['?status[]=pending&status[]=shipped', 'status[]: must be written without brackets; repeat it for several values'],
    ['?filter[status]=pending', 'filter[status]: unknown parameter. This operation accepts status, petId'],
    ['?status[0][x]=pending', 'status[0][x]: unknown parameter.'],
    ['?_=1700000000000', '_: unknown parameter.'],
    ['?complete=True', 'complete: must be true or false.'],
    ['?shipDateFrom=2026-01-02T03:04Z', 'such as 2026-12-01T09:30:00Z'],
    ['?page=2', 'page: unknown parameter. This operation accepts status, petId, complete'],
    ['?limit=%zz', 'The query is not percent-encoded correctly.'],
  ])('%s', async (search, message) => {
    const response = await expectError(await get(search), 'invalid_request');
    expect(JSON.parse(response.body).message).toContain(message);
    expectRateLimitHeaders(response);
    expect(response.headers).not.toHaveProperty('link');
  });

  test('but an empty query is accepted', async () => {
    for (const search of ['?', '?&', '']) expect((await get(search)).status).toBe(200);
  });
});

describe('v2 authenticates and fails as v1 does', () => {
  test.each(['/v2', '/v2/store/orders/1/', '/v2/pets/1'])(
    '404: %s does not exist, which only callers with a key can see',
    async (path) => {
      expectRateLimitHeaders(await expectError(await app.fetch(path), 'route_not_found'));
      expectRateLimitHeaders(await expectError(await app.fetch(path, { key: null }), 'missing_api_key'));
    },
  );

  test('429: a key that has used its limit, which both versions share', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(2) });
    await get('?limit=1', { key });
    await app.fetch('/v1/store/orders', { key });
    const response = await expectError(await get('', { key }), 'rate_limit_exceeded');
    expect(response.headers).toHaveProperty('retry-after');
  });

  test('v1 has neither the parameters nor the links nor the status', async () => {
    const response = await app.fetch('/v1/store/orders?limit=1&status=cancelled&page=2&x=%zz');
    expect([response.status, response.headers.get('link')]).toEqual([200, null]);
    const listed = await response.text();
    expect(listed.match(/"id"/g)).toHaveLength(8);
    expect(listed).not.toContain('status');
  });
});

test('v2 cancels an order as v1 does', async () => {
  const { id } = await placeOrder(app.persistence);
  const cancel = () => app.fetch(`/v2/store/orders/${id}`, { method: 'DELETE' });
  expect((await cancel()).status).toBe(204);
  await expectError(await cancel(), 'order_already_cancelled');
  expect(await (await app.fetch(`/v2/store/orders/${id}`)).json()).toMatchObject({ status: 'cancelled' });
});
