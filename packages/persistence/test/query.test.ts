import { type OrderId, orderId } from '@petstore/domain';
import type { Expression } from 'kysely';
import { expect, test } from 'vitest';
import { Database } from '../src/database/database.ts';
import type { PreparedStatement } from '../src/database/statement.ts';
import { query } from '../src/schema/query.ts';
import { importOrders, NOW, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();

type Wanted = {
  readonly ids: Expression<readonly OrderId[]>;
  readonly complete: Expression<boolean> | undefined;
  readonly placedAt: Expression<Date> | undefined;
};

test('a query is built once for each combination of parameters, whose texts and names differ', async () => {
  let builtCount = 0;
  const find = query('find-wanted', (from, { ids, complete, placedAt }: Wanted) => {
    builtCount++;
    let wanted = from.selectFrom('orders').select(['id', 'quantity']);
    wanted = wanted.where('id', '=', ({ fn }) => fn.any(ids)).where('quantity', '=', 1);
    if (complete) wanted = wanted.where('complete', '=', complete);
    if (placedAt) wanted = wanted.where('placed_at', '=', placedAt);
    return wanted.orderBy('id');
  });
  await importOrders(store, [1n, 2n, 3n].map(pendingOrder));
  const database = new Database({ databaseUrl: store.url });
  const sent: PreparedStatement<object>[] = [];
  const run: Database['run'] = (purpose, statement, values) => {
    sent.push(statement);
    return database.run(purpose, statement, values);
  };
  const findIds = async (ids: readonly bigint[], complete?: boolean, placedAt?: Date) => {
    const rows = await find({ run } as Database, 'requests', { ids: ids.map(orderId), complete, placedAt });
    return rows.map(({ id }) => id);
  };
  expect(await findIds([1n, 3n, 5n])).toEqual([1n, 3n]);
  expect(await findIds([])).toEqual([]);
  expect(await findIds([2n], false)).toEqual([2n]);
  expect(await findIds([2n], true)).toEqual([]);
  expect(await findIds([2n], undefined, NOW)).toEqual([2n]);
  expect(await findIds([2n], undefined, new Date(0))).toEqual([]);
  await database.close();
  expect(builtCount).toBe(3);
  const nameOf = new Map(sent.map(({ text, name }) => [text, name]));
  expect(new Set(nameOf.values()).size).toBe(3);
  for (const name of nameOf.values()) expect(name).toMatch(/^find-wanted-[0-9a-f]{8}$/);
});
