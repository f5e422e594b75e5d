import type { ProcedureContract } from '../../procedure-contract.ts';

export const getCurrentLimitsContract = { type: 'query', cost: 'free' } satisfies ProcedureContract;

/** The use of one window by a key. */
export interface WindowUse {
  /** Requests in any span of the window's length. */
  readonly limit: number;
  /** Exceeds `limit` if the limit was lowered since. */
  readonly used: number;
  /** Exactly this many more requests are admitted now. */
  readonly remaining: number;
  /** When the next unit is freed; the present moment if nothing is used. */
  readonly reset: Date;
}

export interface CurrentLimits {
  readonly minute: WindowUse;
  readonly day: WindowUse;
  /** Refusals that now count towards a ban. */
  readonly refusals: number;
  /** The ban in force. `level` counts from 1: bans of 1, 5, 15 and 60 minutes. */
  readonly ban: { readonly until: Date; readonly level: number } | null;
}
