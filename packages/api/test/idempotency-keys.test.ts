import type { ApiKeyId, Principal } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTERNAL, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const order = { petId: 7n, quantity: 2 };
const internal = () => api.callAs(INTERNAL).orders;

describe('an order that is placed again with its idempotency key', () => {
  test('is the same order, whatever became of it since', async () => {
    const placed = await internal().place({ ...order, idempotencyKey: 'placing' });
    await internal().ship({ orderId: placed.id });
    expect(await internal().place({ ...order, idempotencyKey: 'placing' })).toEqual(placed);
  });

  test('is refused if it is another order', async () => {
    await internal().place({ ...order, idempotencyKey: 'once' });
    for (const other of [{ quantity: 3 }, { petId: 8n }, { shipDate: new Date(0) }]) {
      await expect(internal().place({ ...order, ...other, idempotencyKey: 'once' })).rejects.toMatchObject({
        cause: { name: 'IdempotencyKeyReusedError' },
      });
    }
  });

  test('is another order to another API key', async () => {
    const placed = await internal().place({ ...order, idempotencyKey: 'mine' });
    const other = { ...INTERNAL, keyId: 'another1' as ApiKeyId } as Principal; // it is not looked up
    const placedByOther = await api.callAs(other).orders.place({ ...order, idempotencyKey: 'mine' });
    expect(placedByOther.id).not.toBe(placed.id);
  });
});

test.each(['cancel', 'ship', 'complete'] as const)('%s takes no idempotency key', async (command) => {
  const { id: orderId } = await internal().place(order);
  const input = { orderId, idempotencyKey: 'once' };
  await expect(internal()[command](input)).rejects.toThrow(/may only contain orderId/);
  expect(await internal().get({ orderId })).toMatchObject({ status: 'pending' });
});

test.each(['', 'ä', 'a\nb', 'a'.repeat(256)])('%j is no idempotency key', async (idempotencyKey) => {
  await expect(internal().place({ ...order, idempotencyKey })).rejects.toThrow(
    /must be 1 to 255 printable ASCII characters/,
  );
});
