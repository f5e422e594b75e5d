import pg from 'pg';
import { expect, test } from 'vitest';
import { behindId, copyOrders, linesOf, ORDER_OBJECTS } from '../src/statements/copy-orders.ts';
import { ALL_FIELDS, collect, importOrders, NOW, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();

test.each([
  ['zone', `set timezone to 'Asia/Kolkata'`],
  ['zone, as far from UTC as none', `set timezone to 'Europe/London'`],
  ['style', `set datestyle to 'German'`],
])('a session of another %s lists no order, in no form', async (_, setting) => {
  await store.clear();
  await importOrders(store, [{ ...pendingOrder(1n), shipDate: new Date('2026-07-01T00:00:00Z') }]);
  const client = new pg.Client({ connectionString: store.url, pipeline: true });
  await client.connect();
  await client.query(setting);
  const sender = { send: (query: pg.Submittable) => void client.query(query) };
  for (const format of [ORDER_OBJECTS, linesOf(ALL_FIELDS)]) {
    const batch = copyOrders<unknown>(sender, { format, where: behindId('0'), limit: 10 });
    await expect(batch).rejects.toThrow('not a time as this schema stores it');
  }
  await client.end();
});

test('a time of more decimals than the schema has fails a list, at its beginning or later', async () => {
  await store.clear();
  await store.query('alter table orders alter ship_date type timestamptz(6)');
  const orders = Array.from({ length: 300 }, (_, i) => ({ ...pendingOrder(BigInt(i + 1)), shipDate: NOW }));
  await importOrders(store, orders);
  await store.query(`update orders set ship_date = ship_date + interval '1 microsecond' where id = 300`);
  const { orders: stored } = store.persistence;
  await expect(collect(stored.listOrders().as(ALL_FIELDS))).rejects.toThrow('05:06:07.089001+00');
  await store.query(`update orders set ship_date = ship_date + interval '1 microsecond' where id = 1`);
  await expect(collect(stored.listOrders().as(ALL_FIELDS))).rejects.toThrow('05:06:07.089001+00');
});
