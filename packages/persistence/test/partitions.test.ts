import { readFileSync } from 'node:fs';
import { orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { collect, importOrders, listedOrders, NOW, newOrder, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();

/** The partitions of the operators' guide, with borders near enough to be crossed. */
beforeAll(async () => {
  const text = readFileSync(new URL('../../../docs/scaling.md', import.meta.url), 'utf8');
  const [statements] = /(?<=```sql\n)alter table orders add constraint.+?(?=```)/s.exec(text) ?? [];
  if (statements === undefined) throw new Error('docs/scaling.md has no statements to partition orders with');
  await store.persistence.orders.generateOrders({ count: 200, seed: 1, now: NOW });
  await store.query(statements.replaceAll('12000000', '300').replaceAll('24000000', '2000'));
});
beforeEach(async () => {
  await store.query('delete from orders where id > 200');
  await store.query('truncate orders_to_2000, orders_further'); // the places of their rows begin anew
});

const planOf = async (statement: string) => {
  const { rows } = await store.query(`explain ${statement}`);
  return rows.map(([line]) => line).join('\n');
};

test('orders keep their ids, and new ones follow them', async () => {
  expect((await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order.id).toBe(201n);
});

test('lists and pages cross the borders in the order of ids', async () => {
  const { orders } = store.persistence;
  await importOrders(
    store,
    Array.from({ length: 4_000 }, (_, i) => pendingOrder(BigInt(201 + i))),
  );
  const ids = Array.from({ length: 4_200 }, (_, i) => BigInt(i + 1));
  expect((await listedOrders(store)).map(({ id }) => id)).toEqual(ids);
  const pages = [0n, 290n, 1_990n].map((afterId) =>
    orders.findOrders({ filter: { petId: petId(7n) }, afterId: orderId(afterId), limit: 20 }),
  );
  for (const page of await Promise.all(pages)) {
    const found = page.orders.map(({ id }) => id);
    expect(found).toHaveLength(20);
    expect(found).toEqual(found.toSorted((a, b) => (a < b ? -1 : 1)));
  }
  expect((await collect(orders.listOrders())).flat()).toHaveLength(4_200);
});

test('commands change the orders that they are for, and no others in the same place of another partition', async () => {
  const { orders } = store.persistence;
  await importOrders(store, [300n, 301n, 2_000n, 2_001n].map(pendingOrder));
  // Leaves its mark on an order in each partition: another statement is for those.
  for (const id of [1, 300, 2_000]) await store.query('select from orders where id = $1 for update', [id]);
  const wanted = [1n, 2n, 301n, 2_000n].map(orderId);
  await Promise.all(wanted.map((id) => orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN)));
  const cancelled = (await listedOrders(store)).filter(({ status }) => status === 'cancelled');
  expect(cancelled.map(({ id }) => id)).toEqual(wanted);
});

test('what is wanted by its id is looked for in one partition', async () => {
  const plan = await planOf('select from orders where id = 301');
  expect(plan).toContain('orders_to_2000');
  expect(plan).not.toContain('orders_to_300');
});
