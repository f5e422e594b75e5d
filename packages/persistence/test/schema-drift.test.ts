import { expect, test } from 'vitest';
import { useTestStore } from './support.ts';

const store = useTestStore();

/** A change made to a database by hand, and how it is reported. */
const CHANGES: readonly (readonly [statement: string, ...differences: string[]])[] = [
  ['create table of_another_program (id bigint)'],
  ['alter table orders drop constraint orders_times_check', 'orders lacks the check orders_times_check'],
  ['alter table orders alter ship_date type text', 'orders.ship_date is text, not timestamptz(3)'],
  ['alter table orders alter placed_at type timestamptz', 'orders.placed_at is timestamptz(6), not timestamptz(3)'],
  ['alter table orders alter quantity drop not null', 'orders.quantity may be null'],
  ['alter table orders alter shipped_at set not null', 'orders.shipped_at may not be null, as it should'],
  ['alter table orders alter status set default 1', 'orders.status has the default 1'],
  ['alter table orders alter id drop identity', 'orders.id is not generated as it should be'],
  ['alter table orders add column note text', 'orders has the column note, which is not of this program'],
  ['alter table api_keys drop column plan cascade',
    'api_keys lacks the column plan', 'api_keys lacks the check api_keys_plan_check',
    'api_keys lacks the check api_keys_limits_check'],
  ['alter table api_keys rename column last_used_at to used_at', 'api_keys.last_used_at is called used_at',
    'the check api_keys_times_check of api_keys is not what it should be'],
  [`update pg_index set indisvalid = false where indexrelid = 'api_key_secrets_key_id_index'::regclass`,
    'the index api_key_secrets_key_id_index is not valid, so it is not used'],
  ['drop index orders_pet_id_id_index', 'orders lacks the index orders_pet_id_id_index'],
  ['create index by_status on orders (status)', 'orders has the index by_status, which is not of this program'],
  ['alter table orders drop constraint orders_pkey', 'orders lacks the index orders_pkey'],
  ['alter table orders add constraint small check (quantity < 100)',
    'orders has the check small, which is not of this program'],
  ['alter table orders drop constraint orders_quantity_check', 'orders lacks the check orders_quantity_check'],
  ['alter table orders add constraint orders_quantity_check check (quantity >= 2)',
    'the check orders_quantity_check of orders is not what it should be'],
  ['alter table api_key_secrets drop constraint api_key_secrets_key_id_foreign',
    'api_key_secrets lacks the foreign key api_key_secrets_key_id_foreign'],
  ['create trigger quiet before update on orders for each row execute function suppress_redundant_updates_trigger()',
    'orders has the trigger quiet, which is not of this program'],
  ['alter table api_keys enable row level security', 'api_keys has row-level security, which hides rows'],
  ['drop table pets', 'there is no table pets'],
]; // biome-ignore format: a table

/** Each takes back what the change before brought up. */
const SUPERSEDED = new Set(['orders lacks the check orders_quantity_check']);

test('a database that was changed by hand is reported with each difference from what it should be', async () => {
  const { migrations } = store.persistence;
  expect(await migrations.drift()).toEqual([]);
  for (const [statement] of CHANGES) await store.query(statement);
  const expected = CHANGES.flatMap(([, ...differences]) => differences).filter((each) => !SUPERSEDED.has(each));
  expect([...(await migrations.drift())].sort()).toEqual(expected.sort());
});
