import { describe, expect, test } from 'vitest';
import { createPetstoreClient } from '../src/index.ts';
import { createPetstoreRestClient } from '../src/rest.ts';
import { createTestService, type TestServiceOptions } from '../src/testing.ts';

// What it promises as the server does is in apps/server/test/promises.test.ts.

const BASE_URL = 'https://petstore.example';

describe('the service for tests', () => {
  test.each(['https://petstore.example', 'http://10.0.0.7:3000/v1', 'https://shop.example/petstore/v1'])(
    'is found at %s',
    async (baseUrl) => {
      const { fetch, apiKey, close } = createTestService();
      const client = createPetstoreClient({ baseUrl, apiKey, fetch });
      const { id } = await client.orders.place.mutate({ petId: 7n, quantity: 1 });
      await client.rest.cancelOrder({ orderId: id });
      expect(await client.rest.v2.getOrder({ orderId: id })).toMatchObject({ id: 1n, status: 'cancelled' });
      await close();
    },
  );

  test('knows nothing of others, though their keys are the same', async () => {
    const [one, other] = [createTestService({ orders: [{ id: 1n }] }), createTestService()];
    expect(other.apiKey).toBe(one.apiKey);
    const clients = [one, other].map(({ fetch, externalKey: apiKey }) =>
      createPetstoreRestClient({ baseUrl: BASE_URL, apiKey, fetch }),
    );
    const lists = await Promise.all(clients.map((client) => client.listOrders().toArray()));
    expect(lists.map(({ length }) => length)).toEqual([1, 0]);
    await Promise.all([one.close(), other.close()]);
  });

  test('goes by the given clock', async () => {
    const now = () => new Date('2031-02-03T04:05:06.789Z');
    const { fetch, apiKey, close } = createTestService({ now });
    const client = createPetstoreClient({ baseUrl: BASE_URL, apiKey, fetch });
    expect(await client.orders.place.mutate({ petId: 7n, quantity: 1 })).toMatchObject({ placedAt: now() });
    await close();
  });

  test.each<[what: string, options: TestServiceOptions, message: string]>([
    ['an id twice', { orders: [{ id: 1n }, { id: 1n }] }, 'orders[1]: id 1 is that of another order'],
    ['no quantity', { orders: [{ id: 1n, quantity: 0 }] }, 'orders[0]: quantity must be a whole number from 1 to'],
    ['a state that is none', { orders: [{ id: 1n, status: 'pending', complete: true }] }, 'orders[0]: only an order'],
    ['an id of 65 bits', { orders: [{ id: 2n ** 63n }] }, 'an order id is a 64-bit integer'],
    ['no limit', { plan: { perMinute: 0, perDay: 10 } }, 'plan.perMinute must be a whole number from 1 to 1000000000'],
  ])('refuses %s', (_, options, message) => {
    expect(() => createTestService(options)).toThrow(message);
  });

  test('ends a response whose reader aborts, and makes room for others', async () => {
    const orders = Array.from({ length: 300 }, (_, index) => ({ id: BigInt(index + 1) }));
    const { fetch, apiKey, close } = createTestService({ orders, plan: 'pro' });
    const leave = new Error('left');
    const headers = { authorization: `Bearer ${apiKey}` };
    const streamed = { ...headers, 'trpc-accept': 'application/jsonl' };
    const list = 'orders.list?batch=1&input=%7B%7D';
    // A key may read long lists four times at once.
    for (let sent = 0; sent < 12; sent++) {
      const leaving = new AbortController();
      const { signal } = leaving;
      const response = await fetch(`${BASE_URL}/trpc/${list}`, { headers: streamed, signal });
      expect(response.status).toBe(200);
      leaving.abort(leave);
      await expect(response.text()).rejects.toBe(leave);
    }
    const whole = await fetch(`${BASE_URL}/trpc/${list}`, { headers: streamed });
    expect(await whole.text()).toMatch(/"300".*\n$/s);
    await expect(fetch(BASE_URL, { signal: AbortSignal.abort(leave) })).rejects.toBe(leave);
    await close();
  });

  test('answers who waits when it is closed', async () => {
    const { fetch, apiKey, close } = createTestService();
    const waiting = fetch(`${BASE_URL}/v2/store/order-events?wait=50`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await close();
    expect(await (await waiting).json()).toEqual({ events: [], nextAfter: '0' });
  });

  test('takes requests as fetch does', async () => {
    const { fetch, externalKey, close } = createTestService({ orders: [{ id: 1n }] });
    const headers = { authorization: `Bearer ${externalKey}` };
    const url = new URL('/v1/store/orders', BASE_URL);
    expect(await (await fetch(new Request(url, { headers }))).json()).toHaveLength(1);
    expect((await fetch(url, { headers })).status).toBe(200);
    await expect(fetch('/v1/store/orders', { headers })).rejects.toThrow(TypeError);
    await close();
  });
});
