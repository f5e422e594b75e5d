import { apiKeySubject } from '@petstore/domain';
import type { WindowStatus } from '@petstore/rate-limit';
import { procedure } from '../../trpc/trpc.ts';
import { type CurrentLimits, getCurrentLimitsContract, type WindowUse } from './get-current-limits.contract.ts';

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
