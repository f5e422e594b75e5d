import { expect, test } from 'vitest';
import { useTestStore } from './support.ts';

const store = useTestStore();

/** Changes made to a database by hand, and what a statement that takes each of them back contains. */
const CHANGES: readonly (readonly [change: string, remedy: string])[] = [
  ['alter table orders drop constraint orders_times_check', 'add constraint "orders_times_check"'],
  ['alter table orders alter ship_date type text', 'alter column "ship_date" type timestamptz(3)'],
  ['alter table orders alter placed_at type timestamptz', 'alter column "placed_at" type timestamptz(3)'],
  ['alter table orders alter quantity drop not null', 'alter table "orders" alter column "quantity" set not null;'],
  ['alter table orders alter shipped_at set not null', 'alter table "orders" alter column "shipped_at" drop not null;'],
  ['alter table orders alter status set default 1', 'alter table "orders" alter column "status" drop default;'],
  ['alter table orders alter id drop identity', 'alter table "orders" alter column "id" set default nextval('],
  ['alter table orders add column note text', 'alter table "orders" drop column "note";'],
  ['alter table api_keys drop column plan cascade', 'alter table "api_keys" add "plan" text not null;'],
  ['alter table api_keys rename column last_used_at to used_at', 'rename column "used_at" to "last_used_at";'],
  ['drop index orders_pet_id_id_index', 'create index "orders_pet_id_id_index" on "orders" ("pet_id", "id");'],
  ['create index by_status on orders (status)', 'drop index "by_status";'],
  ['alter table orders add constraint small check (quantity < 100)', 'drop constraint "small";'],
  ['alter table orders drop constraint orders_quantity_check', 'add constraint "orders_quantity_check" check (quantity >= 1);'],
  ['alter table key_events drop constraint key_events_actor_check, add constraint key_events_actor_check check (id > 0)',
    'alter table "key_events" drop constraint "key_events_actor_check";'],
  ['alter table api_key_secrets drop constraint api_key_secrets_key_id_foreign', 'add constraint "api_key_secrets_key_id_foreign"'],
  ['create trigger quiet before update on orders for each row execute function suppress_redundant_updates_trigger()',
    'drop trigger if exists "quiet" on "orders";'],
  ['alter table api_keys enable row level security', 'alter table "api_keys" disable row level security;'],
  ['drop table pets', 'create table "pets" ("id" bigint not null, "name" text not null, primary key ("id"));'],
]; // biome-ignore format: a table

test('a database that was changed by hand is reported with the statements that change it back', async () => {
  const { migrations } = store.persistence;
  expect(await migrations.drift()).toEqual([]);
  for (const [change] of CHANGES) await store.query(change);
  const drift = await migrations.drift();
  for (const [change, remedy] of CHANGES) expect(drift, change).toContainEqual(expect.stringContaining(remedy));
  for (const statement of drift) expect(statement).toMatch(/^[^\n]+;$/);
});

test('what belongs to others is left out, and how names are written in the session does not matter', async () => {
  const drift = () => store.persistence.migrations.drift();
  const before = await drift();
  await store.query(`
    create table theirs (id bigint primary key, other_id bigint references theirs);
    create view seen as select id from theirs;
    create schema other_program;
    create table other_program.orders (id bigint);
    create function f() returns int language sql as 'select 1';
    do $$ begin
      execute format('alter database %I set quote_all_identifiers = on', current_database());
    end $$`);
  expect(await drift()).toEqual(before);
});
