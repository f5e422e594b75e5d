import { isDeepStrictEqual } from 'node:util';
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
import type { Entities, UnitsOfWork } from '../schema/units-of-work.ts';
import { columnsOfPlan, type KeyColumns, keyOfColumns } from './key-columns.ts';

/** A key as created. */
export type NewApiKey = Omit<ApiKey, 'plan' | 'revokedAt' | 'lastUsedAt'> & { readonly plan: Plan };

/** Why a key was not changed. */
export type ApiKeyReason = 'key_not_found' | 'key_revoked' | 'key_expired';

export interface KeyRotation {
  /** SHA-256 of the new key's text. */
  readonly secretHash: Uint8Array;
  readonly now: Date;
  /** When older secrets end, unless they end earlier anyway. */
  readonly overlapEndsAt: Date;
}

/**
 * The operations of operators on keys. It receives only the hash of a key's text. Each change is recorded with its actor,
 * by default the service.
 */
export class ApiKeyAdministration {
  readonly #units: UnitsOfWork;

  constructor(units: UnitsOfWork) {
    this.#units = units;
  }

  createKey(key: NewApiKey, secretHash: Uint8Array, actor: Actor = SERVICE_ACTOR): Promise<ApiKey> {
    return this.#units.change(async (em, entities) => {
      const { plan, expiresAt, ...facts } = key;
      const row = em.create(entities.ApiKeyEntity, { ...facts, expiresAt, ...columnsOfPlan(plan) });
      em.create(entities.ApiKeySecretEntity, { hash: Buffer.from(secretHash), key: row, createdAt: key.createdAt });
      record(em, entities, row, { action: 'key.created', at: key.createdAt, actor, readOnly: key.readOnly });
      await em.flush();
      return keyOfColumns(row);
    });
  }

  listKeys(): Promise<readonly ApiKey[]> {
    return this.#units.read(async (em, entities) => {
      const rows = await em.findAll(entities.ApiKeyEntity, { orderBy: { createdAt: 'desc', id: 'asc' } });
      return rows.map(keyOfColumns);
    });
  }

  findKey(id: ApiKeyId): Promise<ApiKey | undefined> {
    return this.#units.read(async (em, entities) => {
      const row = await em.findOne(entities.ApiKeyEntity, id);
      return row === null ? undefined : keyOfColumns(row);
    });
  }

  rotateKey(
    id: ApiKeyId,
    { secretHash, now, overlapEndsAt }: KeyRotation,
    actor: Actor = SERVICE_ACTOR,
  ): Promise<Result<ApiKey, ApiKeyReason>> {
    return this.#units.change(async (em, entities) => {
      const row = await lockKey(em, entities, id);
      if (row === null) return { ok: false, reason: 'key_not_found' };
      const key = keyOfColumns(row);
      if (key.revokedAt !== undefined) return { ok: false, reason: 'key_revoked' };
      if (key.expiresAt !== undefined && key.expiresAt <= now) return { ok: false, reason: 'key_expired' };
      await em.nativeDelete(entities.ApiKeySecretEntity, { key: row, expiresAt: { $lte: now } });
      await em.nativeUpdate(
        entities.ApiKeySecretEntity,
        { key: row, $or: [{ expiresAt: null }, { expiresAt: { $gt: overlapEndsAt } }] },
        { expiresAt: overlapEndsAt },
      );
      em.create(entities.ApiKeySecretEntity, { hash: Buffer.from(secretHash), key: row, createdAt: now });
      record(em, entities, row, { action: 'key.rotated', at: now, actor });
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

  /** Records the event if the key changed. */
  #change(id: ApiKeyId, event: KeyEvent, change: (row: KeyColumns) => void): Promise<ApiKey | undefined> {
    return this.#units.change(async (em, entities) => {
      const row = await lockKey(em, entities, id);
      if (row === null) return undefined;
      const before = keyOfColumns(row);
      change(row);
      const after = keyOfColumns(row);
      if (!isDeepStrictEqual(before, after)) record(em, entities, row, event);
      await em.flush();
      return after;
    });
  }
}

export const createKeyAdministration = (units: UnitsOfWork): ApiKeyAdministration => new ApiKeyAdministration(units);

interface KeyEvent {
  readonly action: KeyEventAction;
  readonly at: Date;
  readonly actor: Actor;
  readonly readOnly?: boolean;
}

function record(em: EntityManager, { KeyEventEntity }: Entities, { id }: KeyColumns, event: KeyEvent): void {
  em.create(KeyEventEntity, { keyId: id, ...event });
}

async function lockKey(em: EntityManager, { ApiKeyEntity }: Entities, id: ApiKeyId): Promise<KeyColumns | null> {
  const { LockMode } = await import('@mikro-orm/core'); // the ORM has loaded it
  return em.findOne(ApiKeyEntity, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
}
