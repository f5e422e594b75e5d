import {
  hasFixedLimits,
  type KeyPlans,
  type Plan,
  type PlanName,
  type PlanReason,
  type TemporaryPlan,
} from '@petstore/domain';

/** The columns of a key's plans. The table's constraints grant that together they are plans as the domain has them. */
interface PlanColumns {
  readonly plan: PlanName;
  readonly perMinute: number | null;
  readonly perDay: number | null;
  readonly temporaryPlan: PlanName | null;
  readonly temporaryPerMinute: number | null;
  readonly temporaryPerDay: number | null;
  readonly temporaryUntil: Date | null;
  readonly temporaryReason: PlanReason | null;
}

/** As rows are read: the ORM's type for a null column knows undefined too. */
type ReadPlanColumns = {
  readonly [Name in keyof PlanColumns]: PlanColumns[Name] | (null extends PlanColumns[Name] ? undefined : never);
};

export function plansOfColumns(columns: ReadPlanColumns): KeyPlans {
  const { temporaryPlan: name, temporaryUntil: until, temporaryReason: reason } = columns;
  const lastingPlan = planOf(columns.plan, columns.perMinute, columns.perDay);
  if (!name || !until) return { lastingPlan };
  const plan = planOf(name, columns.temporaryPerMinute, columns.temporaryPerDay);
  return { lastingPlan, temporaryPlan: { plan, until, ...(reason && { reason }) } };
}

const planOf = (name: PlanName, perMinute: number | null | undefined, perDay: number | null | undefined): Plan =>
  hasFixedLimits(name) ? { name } : { name, limits: { perMinute: Number(perMinute), perDay: Number(perDay) } };

/** A plan until another is set: one for a time has ended with it. */
export const columnsOfLastingPlan = (plan: Plan): PlanColumns => ({
  plan: plan.name,
  ...columnsOfLimits(plan),
  temporaryPlan: null,
  temporaryPerMinute: null,
  temporaryPerDay: null,
  temporaryUntil: null,
  temporaryReason: null,
});

export function columnsOfTemporaryPlan({
  plan,
  until,
  reason,
}: TemporaryPlan): Omit<PlanColumns, 'plan' | 'perMinute' | 'perDay'> {
  const { perMinute, perDay } = columnsOfLimits(plan);
  return {
    temporaryPlan: plan.name,
    temporaryPerMinute: perMinute,
    temporaryPerDay: perDay,
    temporaryUntil: until,
    temporaryReason: reason ?? null,
  };
}

const columnsOfLimits = (plan: Plan) => ('limits' in plan ? plan.limits : { perMinute: null, perDay: null });
