/** How many requests are admitted in any minute and in any day (both sliding). */
export interface RequestLimits {
  /** Requests in any 60 seconds, 1 to {@link LIMIT_MAX}. */
  readonly perMinute: number;
  /** Requests in any 24 hours, 1 to {@link LIMIT_MAX}. */
  readonly perDay: number;
}

export const LIMIT_MIN = 1;
export const LIMIT_MAX = 1_000_000_000;

/** The plans with fixed limits. */
export const PLAN_LIMITS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, RequestLimits>;

export type FixedPlanName = keyof typeof PLAN_LIMITS;
export type PlanName = FixedPlanName | 'enterprise';

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const satisfies readonly PlanName[];

/** A plan as a key holds it: enterprise carries limits of its own. */
export type Plan = { readonly name: FixedPlanName } | { readonly name: 'enterprise'; readonly limits: RequestLimits };

export const limitsOfPlan = (plan: Plan): RequestLimits =>
  plan.name === 'enterprise' ? plan.limits : PLAN_LIMITS[plan.name];

/** Long lists and subscriptions that a key may have in flight in one process. */
const LONG_LISTS_MAX = { free: 4, pro: 4, business: 4, enterprise: 16 } as const satisfies Record<PlanName, number>;

export const longListsOfPlan = ({ name }: Plan): number => LONG_LISTS_MAX[name];

/** Requests that a key may have in flight in one process; a batch counts what it holds. */
export const KEY_REQUESTS_IN_FLIGHT_MAX = 256;

/** Requests that a client address may have in flight in one process without a key that is known there. */
export const ADDRESS_REQUESTS_IN_FLIGHT_MAX = 64;

/** Calls that take nothing from the limits of a key (`limits.current`), in any minute. */
export const FREE_CALLS_PER_MINUTE = 60;

/** Preflights of one client address in any minute. */
export const PREFLIGHTS_PER_MINUTE = 600;

/** What a client address may send without a valid key, in any minute. */
export const ADDRESS_REQUESTS_PER_MINUTE = 60;
