/** How many requests are admitted in any minute and in any day (both sliding). */
export interface RequestLimits {
  /** Requests in any 60 seconds, 1 to {@link LIMIT_MAX}. */
  readonly perMinute: number;
  /** Requests in any 24 hours, 1 to {@link LIMIT_MAX}. */
  readonly perDay: number;
}

export const LIMIT_MIN = 1;
export const LIMIT_MAX = 1_000_000_000;

interface PlanDefinition {
  /** Its name in the documentation. */
  readonly label: string;
  /** Whom it is for, in one sentence. */
  readonly purpose: string;
  readonly limits: RequestLimits | 'set for each key';
  /** Long lists and subscriptions that a key may have in flight in one process. */
  readonly longListsMax: number;
}

/** Everything that depends on the plan of a key. What documents and the command line say of plans is held against it. */
export const PLANS = {
  free: {
    label: 'Free',
    purpose: 'For trying the service out, and for programs that call now and then.',
    limits: { perMinute: 60, perDay: 1_000 },
    longListsMax: 4,
  },
  pro: {
    label: 'Pro',
    purpose: 'For one program in daily use.',
    limits: { perMinute: 300, perDay: 10_000 },
    longListsMax: 4,
  },
  business: {
    label: 'Business',
    purpose: 'For many users at a time, or several programs behind one key.',
    limits: { perMinute: 1_000, perDay: 100_000 },
    longListsMax: 4,
  },
  enterprise: {
    label: 'Enterprise',
    purpose: 'For those who need more than Business allows: each key has limits of its own.',
    limits: 'set for each key',
    longListsMax: 16,
  },
} as const satisfies Record<string, PlanDefinition>;

export type PlanName = keyof typeof PLANS;

type FixedPlanName = {
  [Name in PlanName]: (typeof PLANS)[Name]['limits'] extends RequestLimits ? Name : never;
}[PlanName];

export const PLAN_NAMES = Object.keys(PLANS) as readonly PlanName[]; // those of the table, which is constant

export const hasFixedLimits = (name: PlanName): name is FixedPlanName => PLANS[name].limits !== 'set for each key';

/** A plan as a key holds it: with limits of its own where the plan has none. */
export type Plan =
  | { readonly name: FixedPlanName }
  | { readonly name: Exclude<PlanName, FixedPlanName>; readonly limits: RequestLimits };

export const limitsOfPlan = (plan: Plan): RequestLimits => ('limits' in plan ? plan.limits : PLANS[plan.name].limits);

export const longListsOfPlan = ({ name }: Plan): number => PLANS[name].longListsMax;

/** Limits in words: `1,000 a minute, 100,000 a day`. */
export const describeLimits = ({ perMinute, perDay }: RequestLimits): string =>
  `${perMinute.toLocaleString('en')} a minute, ${perDay.toLocaleString('en')} a day`;

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
