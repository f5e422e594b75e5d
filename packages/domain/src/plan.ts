import type { Brand } from './ids.ts';

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
  /** The plan's name in the documentation. */
  readonly label: string;
  /** Describes in one sentence who the plan is for. */
  readonly purpose: string;
  readonly limits: RequestLimits | 'set for each key';
  /** The maximum number of long lists that a key may have in flight in one process. */
  readonly longListsMax: number;
}

/** Everything that depends on the plan of a key. Tests compare the documents and the command line with this table. */
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

/** The name of a plan that a newer release has given to a key, and this one does not know. */
export type UnknownPlanName = Brand<string, 'UnknownPlanName'>;

/** A plan whose limits only a newer release knows. */
export interface UnknownPlan {
  readonly name: UnknownPlanName;
}

/** The plan of a key as a store has it. */
export type StoredPlan = Plan | UnknownPlan;

export const isPlanName = (name: string): name is PlanName => Object.hasOwn(PLANS, name);

export const isKnownPlan = (plan: StoredPlan): plan is Plan => isPlanName(plan.name);

export const hasFixedLimits = (name: PlanName): name is FixedPlanName => PLANS[name].limits !== 'set for each key';

/** The plan of a key, with the key's own limits if the plan has none. */
export type Plan =
  | { readonly name: FixedPlanName }
  | { readonly name: Exclude<PlanName, FixedPlanName>; readonly limits: RequestLimits };

export const limitsOfPlan = (plan: Plan): RequestLimits => ('limits' in plan ? plan.limits : PLANS[plan.name].limits);

export const longListsOfPlan = ({ name }: Plan): number => PLANS[name].longListsMax;

/** Limits in words: `1,000 a minute, 100,000 a day`. */
export const describeLimits = ({ perMinute, perDay }: RequestLimits): string =>
  `${perMinute.toLocaleString('en')} a minute, ${perDay.toLocaleString('en')} a day`;

/** The maximum number of requests that a key may have in flight in one process; each call of a batch counts. */
export const KEY_REQUESTS_IN_FLIGHT_MAX = 256;

/** The maximum number of requests that an address may have in flight in one process without a key that the process knows. */
export const ADDRESS_REQUESTS_IN_FLIGHT_MAX = 64;

/** The maximum number of calls of a key that may wait for events in one process; others are answered at once. */
export const KEY_WAITING_CALLS_MAX = 64;

/** The maximum number of requests from one client address without a valid key, in any minute. */
export const ADDRESS_REQUESTS_PER_MINUTE = 600;
