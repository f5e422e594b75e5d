import { defineEntity, p } from '@mikro-orm/core';
import type { ApiKeyId, ApiKeyKind, OrderStatus, PlanName } from '@petstore/domain';

// MikroORM's picture of the tables, constraints included: they refuse every row that the domain's types cannot express,
// whoever writes it. The migrations make the tables; a test holds the two against each other.

/** Milliseconds are all that a JavaScript date and the wire format hold, so they are all that is stored. */
const time = () => p.datetime(3);

/** Only the years that RFC 3339 can write, so that every time has one text. True of null too. */
const hasFourDigitYear = (column: string) =>
  `(${column} is null or ${column} >= '0001-01-01 00:00:00+00' and ${column} < '10000-01-01 00:00:00+00')`;

const timesCheck = (table: string, ...columns: readonly string[]) => ({
  name: `${table}_times_check`,
  expression: columns.map(hasFourDigitYear).join(' and '),
});

export const OrderEntity = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.bigint('bigint').primary().generated('by default as identity'),
    petId: p.bigint('bigint'),
    quantity: p.integer(),
    shipDate: time().nullable(),
    status: p.text().$type<OrderStatus>(),
    complete: p.boolean(),
    placedAt: time(),
    shippedAt: time().nullable(),
    completedAt: time().nullable(),
    cancelledAt: time().nullable(),
  },
  // Of what may change nothing is indexed: an update that changes an indexed column writes to every index.
  indexes: [{ name: 'orders_pet_id_id_index', properties: ['petId', 'id'] }],
  checks: [
    { name: 'orders_quantity_check', expression: 'quantity >= 1' },
    {
      name: 'orders_state_check',
      expression: `
        case status
          when 'pending' then
            not complete and shipped_at is null and completed_at is null and cancelled_at is null
          when 'shipped' then
            shipped_at is not null and complete = (completed_at is not null) and cancelled_at is null
          when 'cancelled' then
            not complete and shipped_at is null and completed_at is null and cancelled_at is not null
          else false
        end`,
    },
    timesCheck('orders', 'ship_date', 'placed_at', 'shipped_at', 'completed_at', 'cancelled_at'),
  ],
});

export const PetEntity = defineEntity({
  name: 'Pet',
  tableName: 'pets',
  properties: {
    id: p.bigint('bigint').primary().autoincrement(false),
    name: p.text(),
  },
  checks: [{ name: 'pets_name_check', expression: `name <> ''` }],
});

export const ApiKeyEntity = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: p.text().$type<ApiKeyId>().primary(),
    name: p.text(),
    kind: p.text().$type<ApiKeyKind>(),
    plan: p.text().$type<PlanName>(),
    perMinute: p.integer().nullable(),
    perDay: p.integer().nullable(),
    createdAt: time(),
    expiresAt: time().nullable(),
    revokedAt: time().nullable(),
    lastUsedAt: time().nullable(),
  },
  checks: [
    { name: 'api_keys_id_check', expression: `id ~ '^[0-9A-Za-z]{8}$'` },
    { name: 'api_keys_kind_check', expression: `kind in ('external', 'internal')` },
    { name: 'api_keys_plan_check', expression: `plan in ('free', 'pro', 'business', 'enterprise')` },
    {
      name: 'api_keys_limits_check',
      expression: `
        case plan
          when 'enterprise' then
            per_minute is not null and per_minute >= 1 and per_minute <= 1000000000
            and per_day is not null and per_day >= 1 and per_day <= 1000000000
          else per_minute is null and per_day is null
        end`,
    },
    timesCheck('api_keys', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'),
  ],
});

/** A key that was rotated has two secrets for a while. */
export const ApiKeySecretEntity = defineEntity({
  name: 'ApiKeySecret',
  tableName: 'api_key_secrets',
  properties: {
    hash: p.blob().primary(),
    key: () => p.manyToOne(ApiKeyEntity).joinColumn('key_id').index(),
    createdAt: time(),
    expiresAt: time().nullable(),
  },
  checks: [
    { name: 'api_key_secrets_hash_check', expression: 'octet_length(hash) = 32' },
    timesCheck('api_key_secrets', 'created_at', 'expires_at'),
  ],
});
