import { describe, expect, test } from 'vitest';
import { expectError } from './support/expect-error.ts';
import { importOrders, importPets, pendingOrder, placeOrder } from './support/orders.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

const app = await useTestApp();
const { persistence } = app;
const list = async () => (await app.fetch('/v1/store/orders')).text();
const cancel = (id: bigint) => app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE' });

describe('listOrders', () => {
  test('200: without orders, an empty array', async () => {
    await using empty = await startTestApp();
    const response = await empty.fetch('/v1/store/orders');
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'application/json',
      '[]',
    ]);
  });

  test('200: exactly the documented fields, ids as bare digits, an unknown date left out', async () => {
    await using own = await startTestApp();
    await importOrders(own.persistence, [
      pendingOrder(9_223_372_036_854_775_807n, { quantity: 2_147_483_647 }),
      pendingOrder(-9_223_372_036_854_775_808n, { shipDate: new Date('2026-05-06T07:08:09.010Z') }),
    ]);
    expect(await (await own.fetch('/v1/store/orders')).text()).toBe(
      '[{"id":-9223372036854775808,"petId":7,"quantity":2,"shipDate":"2026-05-06T07:08:09.010Z","complete":false},' +
        '{"id":9223372036854775807,"petId":7,"quantity":2147483647,"complete":false}]',
    );
  });

  test('200: orders of every status, cancelled ones included, ascending by id', async () => {
    const placed = [
      await placeOrder(persistence),
      await placeOrder(persistence, 'ship'),
      await placeOrder(persistence, 'ship', 'complete'),
      await placeOrder(persistence, 'cancel'),
    ];
    const listed = JSON.parse(await list());
    if (!Array.isArray(listed)) expect.fail('the list must be an array');
    const ids = listed.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(placed.map(({ id }) => listed.find((order) => BigInt(order.id) === id)?.complete)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
});

describe('cancelOrder', () => {
  test('204: a pending order is cancelled, and stays in the list', async () => {
    const { id } = await placeOrder(persistence);
    const before = await list();
    expect((await cancel(id)).status).toBe(204);
    expect(await list()).toBe(before);
  });

  test('204: of 20 at once exactly one succeeds, the others are 409', async () => {
    const { id } = await placeOrder(persistence);
    const responses = await Promise.all(Array.from({ length: 20 }, () => cancel(id)));
    expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(19).fill(409)]);
    for (const response of responses.filter(({ status }) => status === 409)) {
      await expectError(response, 'order_already_cancelled');
    }
  });

  test('409: shipped orders cannot be cancelled, complete or not', async () => {
    await expectError(await cancel((await placeOrder(persistence, 'ship')).id), 'order_already_shipped');
    await expectError(await cancel((await placeOrder(persistence, 'ship', 'complete')).id), 'order_already_shipped');
  });
});

describe('getPetById', () => {
  test('200: the pet, its id as bare digits', async () => {
    await importPets(persistence, [{ id: 9_007_199_254_740_993n, name: 'Žofie "Ž" 猫' }]);
    const response = await app.fetch('/v1/pets/9007199254740993');
    expect(await response.text()).toBe('{"id":9007199254740993,"name":"Žofie \\"Ž\\" 猫"}');
    expect(response.headers.get('content-type')).toBe('application/json');
  });
});

test('internal procedures do not exist over REST', async () => {
  for (const [method, path] of [
    ['POST', '/v1/store/orders'],
    ['POST', '/v1/store/orders/1'],
    ['POST', '/v1/store/orders/1/ship'],
    ['PUT', '/v1/store/orders/1'],
  ] as const) {
    const response = await app.fetch(path, { method, key: app.internalKey, body: '{}' });
    expect([404, 405]).toContain(response.status);
  }
});
