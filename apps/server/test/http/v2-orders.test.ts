import { INT64_MAX, INT64_MIN, type OrderId, petId } from '@petstore/domain';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKey, importOrders, pendingOrder, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type TestApp, useTestApp } from './support/test-app.ts';

const app = await useTestApp();
const get = (query = '', init: Parameters<TestApp['fetch']>[1] = {}) => app.fetch(`/v2/store/orders${query}`, init);

async function readAll(query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const response = await get(next === '' ? query : `${query}&cursor=${next}`);
    expect(response.status).toBe(200);
    const page: { orders: { id: string }[]; next: string | null } = await response.json();
    ids.push(...page.orders.map(({ id }) => id));
    next = page.next;
  }
  return ids;
}

const ids: OrderId[] = [];
beforeAll(async () => {
  await importOrders(app.persistence, [pendingOrder(INT64_MAX, { petId: petId(INT64_MIN) }), pendingOrder(INT64_MIN)]);
  for (const commands of [[], ['ship'], ['ship', 'complete'], ['cancel'], [], []] as const) {
    ids.push((await placeOrder(app.persistence, ...commands)).id);
  }
});

describe('200: a page of orders', () => {
  test('of any size leads through all orders, each exactly once', async () => {
    const all = [INT64_MIN, ...ids, INT64_MAX].map(String);
    for (const limit of [1, 2, 3, 7, 8, 9, 1000]) expect(await readAll(`?limit=${limit}`)).toEqual(all);
    expect(await readAll('?order=asc')).toEqual(all);
    expect(await readAll('?order=desc&limit=3')).toEqual(all.toReversed());
  });

  test('has the same headers for HEAD as for GET, and no body', async () => {
    const [whole, head] = [await get('?limit=1'), await get('?limit=1', { method: 'HEAD' })];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'content-length']) {
      expect(head.headers.get(name), name).toBe(whole.headers.get(name));
    }
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

  test('takes no parameters', async () => {
    await expectError(await find('1?x=1'), 'invalid_request');
  });
});

describe('400: an invalid parameter', () => {
  test.each([
    ['?status[0][x]=pending', 'status[0][x]: unknown parameter.'],
    ['?limit=%zz', 'The query is not percent-encoded correctly.'],
  ])('%s', async (search, message) => {
    const response = await expectError(await get(search), 'invalid_request');
    expect(JSON.parse(response.body).message).toContain(message);
    expectRateLimitHeaders(response);
  });

  test('but an empty query is accepted', async () => {
    for (const search of ['?', '?&', '']) expect((await get(search)).status).toBe(200);
  });
});

test('a key has one limit for both versions', async () => {
  const { text: key } = await createKey(app.persistence, { plan: planOf(2) });
  await get('?limit=1', { key });
  await app.fetch('/v1/store/orders', { key });
  await expectError(await get('', { key }), 'rate_limit_exceeded');
});
