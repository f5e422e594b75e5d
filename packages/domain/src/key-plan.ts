import type { Brand } from './ids.ts';
import type { Plan } from './plan.ts';

/** Why a key has a temporary plan, for operators to read: printable, not blank, at most 200 characters. */
export type PlanReason = Brand<string, 'PlanReason'>;

export const PLAN_REASON_LENGTH_MAX = 200;

/** Letters, marks, digits, punctuation, symbols and blanks: nothing that controls a terminal or splits a line. */
const PRINTABLE = new RegExp(`^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}]{1,${PLAN_REASON_LENGTH_MAX}}$`, 'u');

/** @returns `undefined` where the text is no {@link PlanReason} */
export const parsePlanReason = (text: string): PlanReason | undefined =>
  PRINTABLE.test(text) && text.trim() !== '' ? (text as PlanReason) : undefined; // it was checked

/** A plan that a key has for a time, in place of its lasting one. */
export interface TemporaryPlan {
  readonly plan: Plan;
  /** The first moment at which the lasting plan is in force again. */
  readonly until: Date;
  readonly reason?: PlanReason;
}

/** The plans that a key holds. Which of them is in force depends on the time. */
export interface KeyPlans {
  readonly lastingPlan: Plan;
  /** The last one given; it may have ended. */
  readonly temporaryPlan?: TemporaryPlan;
}

/** @returns `undefined` where the key has none, or it has ended */
export const temporaryPlanAt = ({ temporaryPlan }: KeyPlans, now: Date): TemporaryPlan | undefined =>
  temporaryPlan !== undefined && now < temporaryPlan.until ? temporaryPlan : undefined;

/** The plan by which a key is limited at a moment: nothing has to happen for a temporary plan to end. */
export const planInForce = (plans: KeyPlans, now: Date): Plan => temporaryPlanAt(plans, now)?.plan ?? plans.lastingPlan;
