import {
  hasFixedLimits,
  type KeyPlans,
  type Plan,
  type PlanName,
  type PlanReason,
  type RequestLimits,
  type TemporaryPlan,
} from '@petstore/domain';

type Nullable<Columns> = { readonly [Name in keyof Columns]: Columns[Name] | null };

/** The table's constraints grant that the columns of a plan are together a plan as the domain has it. */
type LastingPlanColumns = { readonly plan: PlanName } & Nullable<RequestLimits>;

type TemporaryPlanColumns = Nullable<{
  temporaryPlan: PlanName;
  temporaryPerMinute: number;
  temporaryPerDay: number;
  temporaryUntil: Date;
  temporaryReason: PlanReason;
}>;

/** As rows are read: for the ORM a column that is null may also be undefined. */
type AsRead<Columns> = { readonly [Name in keyof Columns]: Columns[Name] | undefined };

type ReadColumns = { readonly plan: PlanName } & AsRead<Nullable<RequestLimits> & TemporaryPlanColumns>;

export function plansOfColumns(columns: ReadColumns): KeyPlans {
  const { temporaryPlan: name, temporaryUntil: until, temporaryReason: reason } = columns;
  const lastingPlan = planOf(columns.plan, columns.perMinute, columns.perDay);
  if (!name || !until) return { lastingPlan };
  const plan = planOf(name, columns.temporaryPerMinute, columns.temporaryPerDay);
  return { lastingPlan, temporaryPlan: { plan, until, ...(reason && { reason }) } };
}

const planOf = (name: PlanName, perMinute?: number | null, perDay?: number | null): Plan =>
  hasFixedLimits(name) ? { name } : { name, limits: { perMinute: Number(perMinute), perDay: Number(perDay) } };

/** A plan until another is set: a temporary one has ended with it. */
export const columnsOfLastingPlan = (plan: Plan): LastingPlanColumns & TemporaryPlanColumns => ({
  plan: plan.name,
  ...columnsOfLimits(plan),
  temporaryPlan: null,
  temporaryPerMinute: null,
  temporaryPerDay: null,
  temporaryUntil: null,
  temporaryReason: null,
});

export function columnsOfTemporaryPlan({ plan, until, reason }: TemporaryPlan): TemporaryPlanColumns {
  const { perMinute, perDay } = columnsOfLimits(plan);
  return {
    temporaryPlan: plan.name,
    temporaryPerMinute: perMinute,
    temporaryPerDay: perDay,
    temporaryUntil: until,
    temporaryReason: reason ?? null,
  };
}

const columnsOfLimits = (plan: Plan): Nullable<RequestLimits> =>
  'limits' in plan ? plan.limits : { perMinute: null, perDay: null };
