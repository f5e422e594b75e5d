import { apiKeySubject } from '@petstore/domain';
import type { WindowStatus } from '@petstore/rate-limit';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { procedure } from '../../trpc/trpc.ts';

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

/**
 * Returns the status of the caller's limits. The call is free over HTTP. The result is `null` for callers in the same
 * process, which have no limits.
 */
export const getCurrentLimits = procedure
  .meta(getCurrentLimitsContract)
  .query(async ({ ctx }): Promise<CurrentLimits | null> => {
    if (ctx.principal.type === 'in-process') return null;
    const subject = apiKeySubject(ctx.principal.keyId, ctx.principal.plan);
    const { minute, day, refusals, ban } = ctx.rateLimit ?? (await ctx.services.limiter.peek(subject));
    if (day === undefined) throw new Error('A key has a daily limit.');
    return {
      minute: useOf(minute),
      day: useOf(day),
      refusals,
      ban: ban === undefined ? null : { until: new Date(ban.untilMs), level: ban.level },
    };
  });

const useOf = ({ limit, used, remaining, resetAtMs }: WindowStatus): WindowUse => ({
  limit,
  used,
  remaining,
  reset: new Date(resetAtMs),
});
