import { type IdempotencyKey, orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { expect, test } from 'vitest';
import { reportingChanges } from '../src/operations/reporting-changes.ts';
import { createServerDatabase } from './support/template-database.ts';

const NOW = new Date('2026-01-02T03:04:05.678Z');

test('each change that is made is reported once, and no call that changes nothing', async () => {
  await using database = await createServerDatabase();
  await using persistence = openPersistence({ databaseUrl: database.url });
  let count = 0;
  const orders = reportingChanges(persistence.orders, () => count++);
  const facts = { petId: petId(7n), quantity: 1, placedAt: NOW, status: 'pending', complete: false } as const;
  const place = () => orders.insertOrder(facts, SERVICE_ORIGIN, 'key' as IdempotencyKey);

  const { order } = await place();
  expect(count).toBe(1);
  expect(await place()).toEqual({ placed: false, order });
  expect(count).toBe(1);
  const cancel = () => orders.applyCommand(order.id, 'cancel', NOW, SERVICE_ORIGIN);
  await Promise.all([cancel(), cancel(), cancel()]);
  expect(count).toBe(2);
  await orders.applyCommand(orderId(12n), 'cancel', NOW, SERVICE_ORIGIN);
  expect(count).toBe(2);
});
