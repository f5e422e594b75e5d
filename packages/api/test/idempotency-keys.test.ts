import type { ApiKeyId, Principal } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTERNAL, pendingOrder, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const order = { petId: 7n, quantity: 2 };
const internal = () => api.callAs(INTERNAL).orders;

describe('a call that is made again with its idempotency key', () => {
  test('places one order, and ships, completes and cancels it once', async () => {
    const placed = await internal().place({ ...order, idempotencyKey: 'placing' });
    expect(await internal().place({ ...order, idempotencyKey: 'placing' })).toEqual(placed);
    const orderId = placed.id;
    const shipped = await internal().ship({ orderId, idempotencyKey: 'shipping' });
    const completed = await internal().complete({ orderId, idempotencyKey: 'completing' });
    expect(await internal().ship({ orderId, idempotencyKey: 'shipping' })).toEqual(shipped);
    expect(await internal().complete({ orderId, idempotencyKey: 'completing' })).toEqual(completed);
    const { id } = await internal().place(order);
    await internal().cancel({ orderId: id, idempotencyKey: 'cancelling' });
    await internal().cancel({ orderId: id, idempotencyKey: 'cancelling' });
    await expect(internal().cancel({ orderId: id })).rejects.toMatchObject({ errorCode: 'order_already_cancelled' });
  });

  test('is refused as another call where its input differs, or its procedure', async () => {
    const { id } = await internal().place({ ...order, idempotencyKey: 'once' });
    const others = [
      () => internal().place({ ...order, quantity: 3, idempotencyKey: 'once' }),
      () => internal().place({ ...order, shipDate: new Date(0), idempotencyKey: 'once' }),
      () => internal().cancel({ orderId: id, idempotencyKey: 'once' }),
      () => internal().ship({ orderId: id, idempotencyKey: 'once' }),
    ];
    for (const other of others) {
      await expect(other()).rejects.toMatchObject({
        cause: { name: 'IdempotencyKeyReusedError' },
      });
    }
  });

  test('is another call to another API key', async () => {
    await api.importOrders(pendingOrder(2n ** 54n));
    const call = { orderId: 2n ** 54n, idempotencyKey: 'mine' };
    await internal().cancel(call);
    await internal().cancel(call);
    const other = { ...INTERNAL, keyId: 'another1' as ApiKeyId } as Principal; // it is not looked up
    await expect(api.callAs(other).orders.cancel(call)).rejects.toMatchObject({
      errorCode: 'order_already_cancelled',
    });
  });

  test('is decided anew after a refusal', async () => {
    const { id } = await internal().place(order);
    const complete = () => internal().complete({ orderId: id, idempotencyKey: 'early' });
    await expect(complete()).rejects.toMatchObject({ errorCode: 'order_not_shipped' });
    await internal().ship({ orderId: id });
    expect(await complete()).toMatchObject({ complete: true });
  });
});

test.each(['', 'ä', 'a\nb', 'a'.repeat(256)])('%j is no idempotency key', async (idempotencyKey) => {
  await expect(internal().place({ ...order, idempotencyKey })).rejects.toThrow(
    /must be 1 to 255 printable ASCII characters/,
  );
});
