import { hasFixedLimits, type Plan, type PlanName, type RequestLimits } from '@petstore/domain';

/** The columns of a plan. The constraints of the table grant that they are together a plan as the domain has it. */
interface PlanColumns {
  readonly plan: PlanName;
  /** Null if the plan has fixed limits. */
  readonly perMinute: number | null;
  readonly perDay: number | null;
}

/** For the ORM a column that is null may also be undefined. */
type ReadColumns = Pick<PlanColumns, 'plan'> & {
  readonly [Limit in keyof RequestLimits]?: RequestLimits[Limit] | null | undefined;
};

export const planOfColumns = ({ plan, perMinute, perDay }: ReadColumns): Plan =>
  hasFixedLimits(plan)
    ? { name: plan }
    : { name: plan, limits: { perMinute: Number(perMinute), perDay: Number(perDay) } };

export const columnsOfPlan = (plan: Plan): PlanColumns => ({
  plan: plan.name,
  ...('limits' in plan ? plan.limits : { perMinute: null, perDay: null }),
});
