import type { InferEntity } from '@mikro-orm/core';
import { type ApiKey, hasFixedLimits, isPlanName, type StoredPlan } from '@petstore/domain';
import type { ApiKeyEntity } from '../schema/entities.ts';

/** A key by the properties of its entity. The ORM takes undefined for null. */
export type KeyColumns = InferEntity<typeof ApiKeyEntity>;

/** The limits are null if the plan has fixed ones: the constraints of the table guarantee that they form a valid plan. */
type PlanColumns = Pick<KeyColumns, 'plan' | 'perMinute' | 'perDay'>;

export const keyOfColumns = (columns: Readonly<KeyColumns>): ApiKey => ({
  id: columns.id,
  name: columns.name,
  kind: columns.kind,
  readOnly: columns.readOnly,
  plan: planOfColumns(columns),
  createdAt: columns.createdAt,
  ...(columns.expiresAt && { expiresAt: columns.expiresAt }),
  ...(columns.revokedAt && { revokedAt: columns.revokedAt }),
  ...(columns.lastUsedAt && { lastUsedAt: columns.lastUsedAt }),
});

const planOfColumns = ({ plan, perMinute, perDay }: PlanColumns): StoredPlan =>
  isPlanName(plan) && !hasFixedLimits(plan)
    ? { name: plan, limits: { perMinute: Number(perMinute), perDay: Number(perDay) } }
    : { name: plan };

export const columnsOfPlan = (plan: StoredPlan): PlanColumns => ({
  plan: plan.name,
  ...('limits' in plan ? plan.limits : { perMinute: null, perDay: null }),
});
