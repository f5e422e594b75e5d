import { expect, test } from 'vitest';
import { INTERNAL, startTestApi } from './test-api.ts';

test('each change that is made is announced once, and no call that changes nothing', async () => {
  await using api = await startTestApi();
  const { orders } = api.callAs(INTERNAL);
  const place = () => orders.place({ petId: 7n, quantity: 1, idempotencyKey: 'key' });
  const { id: orderId } = await place();
  expect(api.announcedCount()).toBe(1);
  await place();
  expect(api.announcedCount()).toBe(1);
  await Promise.allSettled([1, 2, 3].map(() => orders.cancel({ orderId })));
  expect(api.announcedCount()).toBe(2);
  await expect(orders.cancel({ orderId: 404n })).rejects.toThrow();
  expect(api.announcedCount()).toBe(2);
});
