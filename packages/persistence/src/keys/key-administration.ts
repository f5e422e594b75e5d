import { isDeepStrictEqual } from 'node:util';
import type { InferEntity } from '@mikro-orm/core';
import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import {
  type Actor,
  type ApiKey,
  type ApiKeyId,
  type KeyEventAction,
  type Plan,
  type Result,
  SERVICE_ACTOR,
} from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { translatingErrors } from '../database/storage-error.ts';
import { ApiKeyEntity, ApiKeySecretEntity, KeyEventEntity } from '../schema/entities.ts';
import { createOrm } from '../schema/orm.ts';
import { columnsOfPlan, planOfColumns } from './plan-columns.ts';

/** What a key begins with. */
export type NewApiKey = Omit<ApiKey, 'revokedAt' | 'lastUsedAt'>;

/** Why a key stays as it is. */
export type ApiKeyReason = 'key_not_found' | 'key_revoked' | 'key_expired';

export interface KeyRotation {
  /** SHA-256 of the new key's text. */
  readonly secretHash: Uint8Array;
  readonly now: Date;
  /** Until when the secrets from before stay valid; those that end earlier still do. */
  readonly overlapEndsAt: Date;
}

/**
 * What operators do with keys. The text of a key never comes here, only its hash. Each change is recorded with its actor,
 * by default the service.
 */
export interface ApiKeyAdministration {
  createKey(key: NewApiKey, secretHash: Uint8Array, actor?: Actor): Promise<ApiKey>;
  /** Newest first. */
  listKeys(): Promise<readonly ApiKey[]>;
  findKey(id: ApiKeyId): Promise<ApiKey | undefined>;
  /** Adds a secret to a key. Limits, refusals and bans belong to the id, which stays. */
  rotateKey(id: ApiKeyId, rotation: KeyRotation, actor?: Actor): Promise<Result<ApiKey, ApiKeyReason>>;
  /** For good. Revoking once more changes nothing. */
  revokeKey(id: ApiKeyId, now: Date, actor?: Actor): Promise<ApiKey | undefined>;
  setPlan(id: ApiKeyId, plan: Plan, now: Date, actor?: Actor): Promise<ApiKey | undefined>;
}

/** When the server gives a statement of the administration up, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 10_000;

type ApiKeyRow = InferEntity<typeof ApiKeyEntity>;

/** Each call is a unit of work with an ORM of its own. */
export class OrmApiKeyAdministration implements ApiKeyAdministration {
  readonly #servers: DatabaseServers;

  constructor(servers: DatabaseServers) {
    this.#servers = servers;
  }

  createKey(key: NewApiKey, secretHash: Uint8Array, actor: Actor = SERVICE_ACTOR): Promise<ApiKey> {
    return this.#transaction(async (em) => {
      const { plan, expiresAt, ...facts } = key;
      const row = em.create(ApiKeyEntity, { ...facts, expiresAt, ...columnsOfPlan(plan) });
      em.create(ApiKeySecretEntity, { hash: Buffer.from(secretHash), key: row, createdAt: key.createdAt });
      record(em, row, { action: 'key.created', at: key.createdAt, actor });
      await em.flush();
      return keyOfRow(row);
    });
  }

  listKeys(): Promise<readonly ApiKey[]> {
    return this.#transaction(async (em) => {
      const rows = await em.findAll(ApiKeyEntity, { orderBy: { createdAt: 'desc', id: 'asc' } });
      return rows.map(keyOfRow);
    });
  }

  findKey(id: ApiKeyId): Promise<ApiKey | undefined> {
    return this.#transaction(async (em) => {
      const row = await em.findOne(ApiKeyEntity, id);
      return row === null ? undefined : keyOfRow(row);
    });
  }

  rotateKey(
    id: ApiKeyId,
    { secretHash, now, overlapEndsAt }: KeyRotation,
    actor: Actor = SERVICE_ACTOR,
  ): Promise<Result<ApiKey, ApiKeyReason>> {
    return this.#transaction(async (em) => {
      const row = await lockKey(em, id);
      if (row === null) return { ok: false, reason: 'key_not_found' };
      const key = keyOfRow(row);
      if (key.revokedAt !== undefined) return { ok: false, reason: 'key_revoked' };
      if (key.expiresAt !== undefined && key.expiresAt <= now) return { ok: false, reason: 'key_expired' };
      await em.nativeDelete(ApiKeySecretEntity, { key: row, expiresAt: { $lte: now } });
      await em.nativeUpdate(
        ApiKeySecretEntity,
        { key: row, $or: [{ expiresAt: null }, { expiresAt: { $gt: overlapEndsAt } }] },
        { expiresAt: overlapEndsAt },
      );
      em.create(ApiKeySecretEntity, { hash: Buffer.from(secretHash), key: row, createdAt: now });
      record(em, row, { action: 'key.rotated', at: now, actor });
      await em.flush();
      return { ok: true, value: key };
    });
  }

  revokeKey(id: ApiKeyId, now: Date, actor: Actor = SERVICE_ACTOR): Promise<ApiKey | undefined> {
    return this.#change(id, { action: 'key.revoked', at: now, actor }, (row) => {
      row.revokedAt ??= now;
    });
  }

  setPlan(id: ApiKeyId, plan: Plan, now: Date, actor: Actor = SERVICE_ACTOR): Promise<ApiKey | undefined> {
    return this.#change(id, { action: 'key.plan_changed', at: now, actor }, (row) => {
      Object.assign(row, columnsOfPlan(plan));
    });
  }

  /** Records the event where something is different afterwards. */
  #change(id: ApiKeyId, event: KeyEvent, change: (row: ApiKeyRow) => void): Promise<ApiKey | undefined> {
    return this.#transaction(async (em) => {
      const row = await lockKey(em, id);
      if (row === null) return undefined;
      const before = keyOfRow(row);
      change(row);
      const after = keyOfRow(row);
      if (!isDeepStrictEqual(before, after)) record(em, row, event);
      await em.flush();
      return after;
    });
  }

  /** The server that takes writes may be another each time. */
  async #transaction<Value>(work: (em: EntityManager) => Promise<Value>): Promise<Value> {
    const orm = await createOrm(this.#servers, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    try {
      return await translatingErrors(() => orm.em.fork().transactional(work));
    } finally {
      await orm.close();
    }
  }
}

interface KeyEvent {
  readonly action: KeyEventAction;
  readonly at: Date;
  readonly actor: Actor;
}

const record = (em: EntityManager, { id }: ApiKeyRow, event: KeyEvent) =>
  em.create(KeyEventEntity, { keyId: id, ...event });

const lockKey = (em: EntityManager, id: ApiKeyId) =>
  em.findOne(ApiKeyEntity, id, { lockMode: LockMode.PESSIMISTIC_WRITE });

function keyOfRow(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    plan: planOfColumns(row),
    createdAt: row.createdAt,
    ...(row.expiresAt && { expiresAt: row.expiresAt }),
    ...(row.revokedAt && { revokedAt: row.revokedAt }),
    ...(row.lastUsedAt && { lastUsedAt: row.lastUsedAt }),
  };
}
