import type { InferEntity } from '@mikro-orm/core';
import { LockMode } from '@mikro-orm/core';
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { ApiKey, ApiKeyId, KeyPlans, Plan, Result, TemporaryPlan } from '@petstore/domain';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { ApiKeyEntity, ApiKeySecretEntity } from '../schema/entities.ts';
import { createOrm } from '../schema/orm.ts';
import { columnsOfLastingPlan, columnsOfTemporaryPlan, plansOfColumns } from '../statements/plan-columns.ts';
import { translatingErrors } from '../storage-error.ts';

/** What a key begins with. */
export type NewApiKey = Omit<ApiKey, keyof KeyPlans | 'revokedAt' | 'lastUsedAt'> & { readonly plan: Plan };

/** Why a key stays as it is. */
export type ApiKeyReason = 'key_not_found' | 'key_revoked' | 'key_expired';

export interface KeyRotation {
  /** SHA-256 of the new key's text. */
  readonly secretHash: Uint8Array;
  readonly now: Date;
  /** Until when the secrets from before stay valid; those that end earlier still do. */
  readonly overlapEndsAt: Date;
}

/** What operators do with keys. The text of a key never comes here, only its hash. */
export interface ApiKeyAdministration {
  createKey(key: NewApiKey, secretHash: Uint8Array): Promise<ApiKey>;
  /** Newest first. */
  listKeys(): Promise<readonly ApiKey[]>;
  findKey(id: ApiKeyId): Promise<ApiKey | undefined>;
  /** Adds a secret to a key. Limits, refusals and bans belong to the id, which stays. */
  rotateKey(id: ApiKeyId, rotation: KeyRotation): Promise<Result<ApiKey, ApiKeyReason>>;
  /** For good. Revoking once more changes nothing. */
  revokeKey(id: ApiKeyId, now: Date): Promise<ApiKey | undefined>;
  /** Sets the lasting plan, and ends a temporary one. */
  setPlan(id: ApiKeyId, plan: Plan): Promise<ApiKey | undefined>;
  /** Replaces the temporary plan. The lasting one stays, and is in force again when this one ends. */
  setTemporaryPlan(id: ApiKeyId, temporaryPlan: TemporaryPlan): Promise<ApiKey | undefined>;
}

/** When the server gives a statement of the administration up, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 10_000;

type ApiKeyRow = InferEntity<typeof ApiKeyEntity>;

/** Each call is a unit of work with an entity manager of its own. */
export class OrmApiKeyAdministration implements ApiKeyAdministration {
  readonly #orm: MikroORM;

  constructor(servers: DatabaseServers) {
    this.#orm = createOrm(servers, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  }

  close(): Promise<void> {
    return this.#orm.close();
  }

  createKey(key: NewApiKey, secretHash: Uint8Array): Promise<ApiKey> {
    return this.#transaction(async (em) => {
      const { plan, expiresAt, ...facts } = key;
      const row = em.create(ApiKeyEntity, { ...facts, expiresAt, ...columnsOfLastingPlan(plan) });
      em.create(ApiKeySecretEntity, { hash: Buffer.from(secretHash), key: row, createdAt: key.createdAt });
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

  rotateKey(id: ApiKeyId, { secretHash, now, overlapEndsAt }: KeyRotation): Promise<Result<ApiKey, ApiKeyReason>> {
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
      await em.flush();
      return { ok: true, value: key };
    });
  }

  revokeKey(id: ApiKeyId, now: Date): Promise<ApiKey | undefined> {
    return this.#change(id, (row) => {
      row.revokedAt ??= now;
    });
  }

  setPlan(id: ApiKeyId, plan: Plan): Promise<ApiKey | undefined> {
    return this.#change(id, (row) => {
      Object.assign(row, columnsOfLastingPlan(plan));
    });
  }

  setTemporaryPlan(id: ApiKeyId, temporaryPlan: TemporaryPlan): Promise<ApiKey | undefined> {
    return this.#change(id, (row) => {
      Object.assign(row, columnsOfTemporaryPlan(temporaryPlan));
    });
  }

  #change(id: ApiKeyId, change: (row: ApiKeyRow) => void): Promise<ApiKey | undefined> {
    return this.#transaction(async (em) => {
      const row = await lockKey(em, id);
      if (row === null) return undefined;
      change(row);
      await em.flush();
      return keyOfRow(row);
    });
  }

  #transaction<Value>(work: (em: EntityManager) => Promise<Value>): Promise<Value> {
    return translatingErrors(() => this.#orm.em.fork().transactional(work));
  }
}

const lockKey = (em: EntityManager, id: ApiKeyId) =>
  em.findOne(ApiKeyEntity, id, { lockMode: LockMode.PESSIMISTIC_WRITE });

function keyOfRow(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    ...plansOfColumns(row),
    createdAt: row.createdAt,
    ...(row.expiresAt && { expiresAt: row.expiresAt }),
    ...(row.revokedAt && { revokedAt: row.revokedAt }),
    ...(row.lastUsedAt && { lastUsedAt: row.lastUsedAt }),
  };
}
