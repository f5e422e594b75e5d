import { MikroORM } from '@mikro-orm/postgresql';
import { expect, test } from 'vitest';
import * as entities from '../src/schema/entities.ts';
import { MIGRATIONS_TABLE } from '../src/schema/migration-names.ts';
import { useTestStore } from './support.ts';

const store = useTestStore();

/** @returns the SQL that would make the tables what the entities say */
async function findDrift(): Promise<string> {
  const orm = new MikroORM({
    clientUrl: store.url,
    entities: Object.values(entities),
    schemaGenerator: { skipTables: [MIGRATIONS_TABLE] },
  });
  try {
    return await orm.schema.getUpdateSchemaSQL({ wrap: false });
  } finally {
    await orm.close();
  }
}

test('the migrations make the tables that the entities describe', async () => {
  expect(await findDrift()).toBe('');
});

test.each([
  ['alter table orders drop constraint orders_times_check', 'add constraint "orders_times_check"'],
  ['alter table orders alter ship_date type text', 'alter column "ship_date" type timestamptz(3)'],
  ['alter table orders alter quantity drop not null', 'alter column "quantity" set not null'],
  ['alter table pets add column note text', 'drop column "note"'],
  ['drop index orders_pet_id_id_index', 'create index "orders_pet_id_id_index"'],
  ['alter table api_key_secrets drop constraint api_key_secrets_key_id_foreign', 'api_key_secrets_key_id_foreign'],
  ['create table forgotten (id bigint primary key)', 'drop table if exists "forgotten"'],
])('the comparison sees: %s', async (change, remedy) => {
  await store.query(change);
  expect(await findDrift()).toContain(remedy);
});
