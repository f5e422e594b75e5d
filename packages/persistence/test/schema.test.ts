import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import {
  type ApiKeyId,
  type FieldDefinition,
  ORDER_STATUSES,
  ORDER_TIME_FIELDS,
  type OrderEventId,
  type OrderId,
  type OrderState,
  type PetId,
  timesOfState,
} from '@petstore/domain';
import { createTestDatabase } from '@petstore/testing';
import { EVERY_STATE } from '@petstore/testing/any-order';
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as entities from '../src/schema/entities.ts';
import { MIGRATIONS_TABLE } from '../src/schema/migration-list.ts';
import { COLUMN_OF_FIELD, columnsOf } from '../src/schema/order-columns.ts';
import type { Row } from '../src/schema/rows.ts';
import { limitsOf } from '../src/schema/value-checks.ts';
import { useTestStore } from './support.ts';

const store = useTestStore();

type Values = Record<string, unknown>;

async function insert(table: string, row: Values) {
  const columns = Object.keys(row);
  const places = columns.map((_, i) => `$${i + 1}`);
  await store.query(`insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`, Object.values(row));
}

const AT = '2026-01-02T03:04:05.678Z';
const PENDING = { pet_id: 1, quantity: 1, status: 'pending', complete: false, placed_at: AT };

/** The columns of the times that orders have in some of their states. */
const STAMPS = columnsOf(ORDER_TIME_FIELDS.filter((name) => name !== 'placedAt'));

const rowIn = (state: OrderState): Values => ({
  ...PENDING,
  ...state,
  ...Object.fromEntries(columnsOf(timesOfState(state)).map((column) => [column, AT])),
});

describe('orders', () => {
  test('take each combination of status, complete and times that an order can have, and no other', async () => {
    const nameOf = (status: string, complete: boolean, stamps: readonly string[]) =>
      [status, ...(complete ? ['complete'] : []), ...stamps.toSorted()].join('+');
    const possible = new Set(
      EVERY_STATE.map((state) => nameOf(state.status, state.complete, columnsOf(timesOfState(state)))),
    );
    const taken = new Set<string>();
    for (const status of [...ORDER_STATUSES, 'complete', '']) {
      for (let bits = 0; bits < 2 ** (STAMPS.length + 1); bits++) {
        const complete = (bits & 1) !== 0;
        const set = STAMPS.filter((_, i) => (bits & (2 << i)) !== 0);
        const times = STAMPS.map((column) => [column, set.includes(column) ? AT : null] as const);
        const row = { ...PENDING, status, complete, ...Object.fromEntries(times) };
        try {
          await insert('orders', row);
          taken.add(nameOf(status, complete, set));
        } catch (error) {
          expect(error).toMatchObject({ constraint: 'orders_state_check' });
        }
      }
    }
    expect(taken).toEqual(possible);
  });

  test.each([
    ['a quantity of 0', { quantity: 0 }, 'orders_quantity_check'],
    ['an infinite ship date', { ship_date: 'infinity' }, 'orders_times_check'],
    ['a ship date before all time', { ship_date: '-infinity' }, 'orders_times_check'],
    ['a ship date before the year 1', { ship_date: '0001-12-31 23:59:59.999+00 BC' }, 'orders_times_check'],
    ['a ship date of the year 10000', { ship_date: '10000-01-01 00:00:00+00' }, 'orders_times_check'],
    [
      'a ship date that rounds up to the year 10000',
      { ship_date: '9999-12-31 23:59:59.9999+00' },
      'orders_times_check',
    ],
    ['a placing without end', { placed_at: 'infinity' }, 'orders_times_check'],
  ])('refuse %s', async (_, change, constraint) => {
    await expect(insert('orders', { ...PENDING, ...change })).rejects.toMatchObject({ constraint });
  });

  const STAMPED = EVERY_STATE.flatMap((state) =>
    timesOfState(state).map((name) => [COLUMN_OF_FIELD[name], state] as const),
  );
  test.each(STAMPED)('refuse an infinite %s of %o', async (column, state) => {
    const row = rowIn(state);
    await expect(insert('orders', { ...row, [column]: 'infinity' })).rejects.toMatchObject({
      constraint: 'orders_times_check',
    });
  });

  test('refuse an id that is taken', async () => {
    await insert('orders', { ...PENDING, id: 777 });
    await expect(insert('orders', { ...PENDING, id: 777 })).rejects.toMatchObject({ constraint: 'orders_pkey' });
  });
});

describe('pets', () => {
  test('refuse an empty name', async () => {
    await expect(insert('pets', { id: 1, name: '' })).rejects.toMatchObject({ constraint: 'pets_name_check' });
  });
});

describe('API keys', () => {
  const KEY = { id: 'abcdEFGH', name: '', kind: 'external', read_only: false, plan: 'free', created_at: AT };
  const ENTERPRISE = { ...KEY, id: 'Enterpri', plan: 'enterprise', per_minute: 1, per_day: 1_000_000_000 };

  test('take a key of a fixed plan and one of the enterprise plan', async () => {
    await insert('api_keys', { ...KEY, id: 'FixedOne' });
    await insert('api_keys', { ...ENTERPRISE, id: 'Individ1' });
  });

  test.each([
    ['an id that is too short', { ...KEY, id: 'abc' }, 'api_keys_id_check'],
    ['an id with another character', { ...KEY, id: 'abcdEFG-' }, 'api_keys_id_check'],
    ['an unknown kind', { ...KEY, kind: 'partner' }, 'api_keys_kind_check'],
    ['an enterprise plan without limits', { ...KEY, plan: 'enterprise' }, 'api_keys_limits_check'],
    ['an enterprise plan without a daily limit', { ...ENTERPRISE, per_day: null }, 'api_keys_limits_check'],
    ['an enterprise plan without a limit per minute', { ...ENTERPRISE, per_minute: null }, 'api_keys_limits_check'],
    ['an enterprise limit of 0', { ...ENTERPRISE, per_minute: 0 }, 'api_keys_limits_check'],
    ['an enterprise limit above the largest', { ...ENTERPRISE, per_day: 1_000_000_001 }, 'api_keys_limits_check'],
    ['a fixed plan with a limit of its own', { ...KEY, per_minute: 5 }, 'api_keys_limits_check'],
    ['a fixed plan with a daily limit of its own', { ...KEY, per_day: 5 }, 'api_keys_limits_check'],
    ['an expiry without end', { ...KEY, expires_at: 'infinity' }, 'api_keys_times_check'],
  ])('refuse %s', async (_, row, constraint) => {
    await expect(insert('api_keys', row)).rejects.toMatchObject({ constraint });
  });

  test('refuse a secret that is no SHA-256, or belongs to no key', async () => {
    await insert('api_keys', KEY);
    const secret = { hash: Buffer.alloc(32, 1), key_id: KEY.id, created_at: AT };
    await insert('api_key_secrets', secret);
    await expect(insert('api_key_secrets', { ...secret, hash: Buffer.alloc(31) })).rejects.toMatchObject({
      constraint: 'api_key_secrets_hash_check',
    });
    await expect(
      insert('api_key_secrets', { ...secret, hash: Buffer.alloc(32, 2), key_id: 'Nobody00' }),
    ).rejects.toMatchObject({ constraint: 'api_key_secrets_key_id_foreign' });
  });
});

describe('the entities', () => {
  test('give rows their types, with the brands of ids and with nulls', () => {
    expectTypeOf<Row<'pets'>>().toEqualTypeOf<{ readonly id: PetId; readonly name: string }>();
    expectTypeOf<Row<'orders'>['id']>().toEqualTypeOf<OrderId>();
    expectTypeOf<Row<'order_events'>['id']>().toEqualTypeOf<OrderEventId>();
    expectTypeOf<Row<'api_key_secrets'>['key_id']>().toEqualTypeOf<ApiKeyId>();
    expectTypeOf<Row<'api_keys'>['per_minute']>().toEqualTypeOf<number | null>();
    expectTypeOf<Row<'orders'>['shipped_at']>().toEqualTypeOf<Date | null>();
  });

  const changed = useTestStore();

  /** @returns the SQL that would make the tables what the entities say */
  async function findDrift(): Promise<string> {
    const orm = new MikroORM({
      clientUrl: changed.url,
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

  test.each<[FieldDefinition, 'integer' | 'text']>([
    [{ kind: 'wholeNumber', min: 1, max: 10, setBy: 'caller' }, 'integer'],
    [{ kind: 'wholeNumber', min: 0, max: 2_147_483_647, setBy: 'caller' }, 'integer'],
    [{ kind: 'text', minLength: 1, maxLength: 200, setBy: 'caller' }, 'text'],
  ])('the check of %o compares equal once it is made', async (definition, type) => {
    const expression = limitsOf('value', definition) ?? 'no check';
    const properties = { id: p.integer().primary(), value: p[type]() };
    const checks = [{ name: 'samples_value_check', expression }];
    const Sample = defineEntity({ name: 'Sample', tableName: 'samples', properties, checks });
    await using database = await createTestDatabase();
    const orm = new MikroORM({ clientUrl: database.url, entities: [Sample] });
    try {
      await orm.schema.create();
      expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe('');
    } finally {
      await orm.close();
    }
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
    await changed.query(change);
    expect(await findDrift()).toContain(remedy);
  });
});
