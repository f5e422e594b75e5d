import { defineEntity, p } from '@mikro-orm/core';
import {
  type Actor,
  type ApiKeyId,
  type ApiKeyKind,
  COMPLETION_TIME,
  definitionOf,
  type FieldKind,
  hasFixedLimits,
  type IdempotencyKey,
  isOptionalField,
  KEY_EVENT_ACTIONS,
  type KeyEventAction,
  LIMIT_MAX,
  LIMIT_MIN,
  type OptionalOrderField,
  ORDER_FIELD_NAMES,
  type ORDER_FIELDS,
  ORDER_STATES,
  ORDER_STATUSES,
  ORDER_TIME_FIELDS,
  type OrderEventId,
  type OrderEventType,
  type OrderField,
  type OrderId,
  type OrderStatus,
  type PetId,
  PLAN_NAMES,
  type PlanName,
  type UnknownPlanName,
  type UnknownStatus,
} from '@petstore/domain';
import { COLUMN_OF_FIELD, columnsOf } from './order-columns.ts';
import { limitsOf } from './value-checks.ts';

// MikroORM's description of the tables, from which the migrations are made; a test compares the two. The constraints refuse
// every row that the domain's types cannot express, from any program.

/** Times have milliseconds, the precision of a JavaScript date and of the wire format. */
const time = () => p.datetime(3);

/** Only the years that RFC 3339 can write: every time has one text. Also true of null. */
const hasFourDigitYear = (column: string) =>
  `(${column} is null or ${column} >= '0001-01-01 00:00:00+00' and ${column} < '10000-01-01 00:00:00+00')`;

const timesCheck = (table: string, ...columns: readonly string[]) => ({
  name: `${table}_times_check`,
  expression: columns.map(hasFourDigitYear).join(' and '),
});

const textList = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

const isLimit = (column: string) => `${column} is not null and ${column} >= ${LIMIT_MIN} and ${column} <= ${LIMIT_MAX}`;

/** A key has its own limits if and only if its plan has no fixed ones. */
const KEY_LIMITS = `
  case plan
    ${PLAN_NAMES.filter((name) => !hasFixedLimits(name))
      .map((name) => `when '${name}' then ${isLimit('per_minute')} and ${isLimit('per_day')}`)
      .join('\n')}
    else per_minute is null and per_day is null
  end`;

/** The column of a value of each kind, and what MikroORM and a check of PostgreSQL make of it. */
const PROPERTIES = {
  int64: () => p.bigint('bigint'),
  wholeNumber: () => p.integer(),
  instant: time,
  boolean: () => p.boolean(),
  status: () => p.text().$type<OrderStatus | UnknownStatus>(),
  text: () => p.text(),
} as const satisfies Record<FieldKind, () => unknown>;

type PropertyOf<Name extends OrderField> = ReturnType<(typeof PROPERTIES)[(typeof ORDER_FIELDS)[Name]['kind']]>;

type Fact = Exclude<OrderField, 'id'>;

/** The columns of an order except for its id. */
function orderFacts() {
  const properties = ORDER_FIELD_NAMES.filter((name) => name !== 'id').map((name) => {
    const property = PROPERTIES[definitionOf(name).kind]();
    return [name, isOptionalField(name) ? property.nullable() : property] as const;
  });
  // Each as its definition says, which the type of `fromEntries` cannot.
  return Object.fromEntries(properties) as {
    [Name in Fact]: Name extends OptionalOrderField ? ReturnType<PropertyOf<Name>['nullable']> : PropertyOf<Name>;
  };
}

const columnsOfKind = (kind: FieldKind): readonly string[] =>
  columnsOf(ORDER_FIELD_NAMES.filter((name) => definitionOf(name).kind === kind));

/** What a type does not say of a column: `quantity >= 1`. */
const valueChecks = () =>
  ORDER_FIELD_NAMES.flatMap((name) => {
    const expression = limitsOf(COLUMN_OF_FIELD[name], definitionOf(name));
    return expression === undefined ? [] : [{ name: `orders_${COLUMN_OF_FIELD[name]}_check`, expression }];
  });

/** The times that depend on the status alone. */
const STAMPS = ORDER_TIME_FIELDS.filter((name) => name !== 'placedAt' && name !== COMPLETION_TIME);

const COMPLETE = { no: ['not complete'], yes: ['complete'], either: [] } as const;

/** Each state has its times, and no others. */
const STATE_CHECK = `
  complete = (${COLUMN_OF_FIELD[COMPLETION_TIME]} is not null) and case status
    ${ORDER_STATUSES.map((status) => {
      const { complete, times } = ORDER_STATES[status];
      const own: readonly string[] = times;
      const stamps = STAMPS.map((name) => `${COLUMN_OF_FIELD[name]} is ${own.includes(name) ? 'not null' : 'null'}`);
      return `when '${status}' then ${[...COMPLETE[complete], ...stamps].join(' and ')}`;
    }).join('\n    ')}
    else false
  end`;

export const OrderEntity = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.bigint('bigint').$type<OrderId>().primary().generated('by default as identity'),
    ...orderFacts(),
  },
  indexes: [
    { name: 'orders_pet_id_id_index', properties: ['petId', 'id'] },
    // The only mutable column that is indexed: an update that changes one writes to every index.
    { name: 'orders_status_id_index', properties: ['status', 'id'] },
  ],
  checks: [
    ...valueChecks(),
    { name: 'orders_state_check', expression: STATE_CHECK },
    timesCheck('orders', ...columnsOfKind('instant')),
  ],
});

export const PetEntity = defineEntity({
  name: 'Pet',
  tableName: 'pets',
  properties: {
    id: p.bigint('bigint').$type<PetId>().primary().autoincrement(false),
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
    readOnly: p.boolean(),
    plan: p.text().$type<PlanName | UnknownPlanName>(),
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
    { name: 'api_keys_limits_check', expression: KEY_LIMITS },
    timesCheck('api_keys', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'),
  ],
});

/** For a while after a rotation, a key has two secrets. */
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

/**
 * A row for each change of an order, written by the statement that makes the change. Its values were checked by the table
 * `orders`, and it has no constraints itself: PostgreSQL parses the text of each constraint for every statement, and three
 * of them took more processor time than the row itself. Nor does it have an index that only the audit would use.
 */
export const OrderEventEntity = defineEntity({
  name: 'OrderEvent',
  tableName: 'order_events',
  properties: {
    id: p.bigint('bigint').$type<OrderEventId>().primary().generated('by default as identity'),
    type: p.text().$type<OrderEventType>(),
    at: time(),
    actor: p.text().$type<Actor>(),
    requestId: p.text().nullable(),
    orderId: p.bigint('bigint').$type<OrderId>(),
    ...orderFacts(),
  },
});

/** A single row: the last event that was deleted after the retention. */
export const DeletedOrderEventsEntity = defineEntity({
  name: 'DeletedOrderEvents',
  tableName: 'order_events_deleted',
  properties: {
    id: p.boolean().primary(),
    throughId: p.bigint('bigint').$type<OrderEventId>(),
    throughAt: time().nullable(),
  },
  checks: [{ name: 'order_events_deleted_id_check', expression: 'id' }],
});

/** A row for each change of a key, and for each ban that is set or lifted. */
export const KeyEventEntity = defineEntity({
  name: 'KeyEvent',
  tableName: 'key_events',
  properties: {
    id: p.bigint('bigint').primary().generated('by default as identity'),
    action: p.text().$type<KeyEventAction>(),
    at: time(),
    actor: p.text().$type<Actor>(),
    // No foreign key: a ban may concern a key that this database never contained.
    keyId: p.text().$type<ApiKeyId>(),
    /** Of the key that was created. */
    readOnly: p.boolean().nullable(),
  },
  checks: [
    { name: 'key_events_action_check', expression: `action in (${textList(KEY_EVENT_ACTIONS)})` },
    { name: 'key_events_actor_check', expression: `split_part(actor, ':', 1) in ('key', 'operator', 'service')` },
    { name: 'key_events_read_only_check', expression: `(action = 'key.created') = (read_only is not null)` },
    timesCheck('key_events', 'at'),
  ],
});

/** Orders that were placed with an idempotency key, in their state when placed. */
export const IdempotencyKeyEntity = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    actor: p.text().$type<Actor>().primary(),
    idempotencyKey: p.text().$type<IdempotencyKey>().primary(),
    /** The input of the call: shows whether the key is used again for another call. */
    call: p.text(),
    rememberedAt: time(),
    orderId: p.bigint('bigint').$type<OrderId>(),
    ...orderFacts(),
  },
  indexes: [{ name: 'idempotency_keys_remembered_at_index', properties: ['rememberedAt'] }],
  checks: [timesCheck('idempotency_keys', 'remembered_at')],
});

/** For each applied migration, the last migration of the oldest release that works on the migrated schema. */
export const SchemaReleaseEntity = defineEntity({
  name: 'SchemaRelease',
  tableName: 'schema_releases',
  properties: {
    migration: p.text().primary(),
    oldestCompatibleMigration: p.text().fieldName('oldest_release'),
  },
});
