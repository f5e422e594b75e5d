import { defineEntity, p } from '@mikro-orm/core';
import type { ApiKeyId, ApiKeyKind, OrderStatus, PlanName } from '@petstore/domain';

// MikroORM's picture of the tables. The migrations make them; a test compares the two.

/** Milliseconds are all that a JavaScript date and the wire format hold, so they are all that is stored. */
const time = () => p.datetime(3);

export const OrderEntity = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.bigint('bigint').primary(),
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
});

export const PetEntity = defineEntity({
  name: 'Pet',
  tableName: 'pets',
  properties: {
    id: p.bigint('bigint').primary().autoincrement(false),
    name: p.text(),
  },
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
});

/** A key that was rotated has two secrets for a while. */
export const ApiKeySecretEntity = defineEntity({
  name: 'ApiKeySecret',
  tableName: 'api_key_secrets',
  properties: {
    hash: p.blob().primary(),
    key: () => p.manyToOne(ApiKeyEntity).joinColumn('key_id'),
    createdAt: time(),
    expiresAt: time().nullable(),
  },
});
