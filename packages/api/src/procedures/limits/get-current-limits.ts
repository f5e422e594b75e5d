import { limitsOfPlan } from '@petstore/domain';
import { apiKeySubject, type WindowStanding } from '@petstore/rate-limit';
import { procedure } from '../../trpc/trpc.ts';

/** Where a key stands in one window. */
export interface WindowUse {
  /** Requests in any span of the window's length. */
  readonly limit: number;
  /** More than `limit` where that was lowered since. */
  readonly used: number;
  /** Exactly this many more fit now. */
  readonly remaining: number;
  /** When the next unit is freed; the present moment where nothing is used. */
  readonly reset: Date;
}

export interface CurrentLimits {
  readonly minute: WindowUse;
  readonly day: WindowUse;
  /** Strikes that count towards a ban at this moment. */
  readonly strikes: number;
  /** The ban in force. `level` counts from 1: bans of 1, 5, 15 and 60 minutes. */
  readonly ban: { readonly until: Date; readonly level: number } | null;
}

/** Tells a caller its own standing. Costs nothing over HTTP; `null` for callers in the same process, whom nothing limits. */
export const getCurrentLimits = procedure
  .meta({ cost: 'free' })
  .query(async ({ ctx }): Promise<CurrentLimits | null> => {
    if (ctx.principal.type === 'in-process') return null;
    const subject = apiKeySubject(ctx.principal.keyId, limitsOfPlan(ctx.principal.plan));
    const { minute, day, used, strikes, ban } = await ctx.services.limiter.peek(subject);
    if (day === undefined || used.day === undefined) throw new Error('A key has a daily limit.');
    return {
      minute: useOf(minute, used.minute),
      day: useOf(day, used.day),
      strikes,
      ban: ban === undefined ? null : { until: new Date(ban.untilMs), level: ban.level },
    };
  });

const useOf = ({ limit, remaining, resetAtMs }: WindowStanding, used: number): WindowUse => ({
  limit,
  used,
  remaining,
  reset: new Date(resetAtMs),
});
