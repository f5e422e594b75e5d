import { INT64_MAX, INT64_MIN, type OrderId, petId } from '@petstore/domain';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKey, importOrders, pendingOrder, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type TestApp, useTestApp } from './support/test-app.ts';

const app = await useTestApp();
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
  await importOrders(app.persistence, [pendingOrder(INT64_MAX, { petId: petId(INT64_MIN) }), pendingOrder(INT64_MIN)]);
  for (const commands of [[], ['ship'], ['ship', 'complete'], ['cancel'], [], []] as const) {
    ids.push((await placeOrder(app.persistence, ...commands)).id);
  }
});

describe('200: a page of orders', () => {
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

  test('has the same headers for HEAD as for GET, its links included, and no body', async () => {
    const [whole, head] = [await get('?limit=1'), await get('?limit=1', { method: 'HEAD' })];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['link', 'content-type', 'content-length']) {
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
    expect(response.headers).not.toHaveProperty('link');
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
