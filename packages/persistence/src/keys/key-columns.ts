import { type ApiKey, hasFixedLimits, type Plan, type PlanName } from '@petstore/domain';

/** The columns of a plan. The constraints of the table guarantee that they form a valid `Plan`. */
interface PlanColumns {
  readonly plan: PlanName;
  /** Null if the plan has fixed limits. */
  readonly perMinute: number | null;
  readonly perDay: number | null;
}

/** The columns of a key. For the ORM, a null column may also be undefined. */
export interface KeyColumns extends Pick<ApiKey, 'id' | 'name' | 'kind' | 'readOnly' | 'createdAt'> {
  readonly plan: PlanName;
  readonly perMinute?: number | null | undefined;
  readonly perDay?: number | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly revokedAt?: Date | null | undefined;
  readonly lastUsedAt?: Date | null | undefined;
}

export const keyOfColumns = (columns: KeyColumns): ApiKey => ({
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

const planOfColumns = ({ plan, perMinute, perDay }: KeyColumns): Plan =>
  hasFixedLimits(plan)
    ? { name: plan }
    : { name: plan, limits: { perMinute: Number(perMinute), perDay: Number(perDay) } };

export const columnsOfPlan = (plan: Plan): PlanColumns => ({
  plan: plan.name,
  ...('limits' in plan ? plan.limits : { perMinute: null, perDay: null }),
});
