import { setTimeout } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN } from '@petstore/domain';
import { expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { importOrders, NOW, pendingOrder, UNKNOWN_KEY_ID, useTestStore } from './support.ts';

const store = useTestStore();

test('statements that cannot be parsed fail alone, and their connections stay', async () => {
  const ids = [orderId(1n), orderId(2n), orderId(3n)];
  await importOrders(store, ids.map(pendingOrder));
  const url = new URL(store.url);
  url.searchParams.set('application_name', 'a cold start');
  await using cold = openPersistence({ databaseUrl: url.href, connections: 1 });
  // The first statement opens the connection, and is none of those that have to wait.
  await cold.apiKeys.markKeyUsed(UNKNOWN_KEY_ID, NOW);
  await store.query('begin');
  await store.query('lock table orders in access exclusive mode');
  const calls = ids.map((id, i) => cold.orders.applyCommand(id, 'cancel', new Date(+NOW + i), SERVICE_ORIGIN));
  const outcomes = Promise.allSettled(calls);
  await setTimeout(1_500); // the first has failed, the others were sent behind it
  await store.query('rollback');
  const reasons = (await outcomes).map((each) => (each.status === 'fulfilled' ? 'applied' : String(each.reason)));
  expect(reasons[0]).toMatch('lock timeout');
  expect(reasons.slice(1)).toEqual(['applied', 'applied']);
});
