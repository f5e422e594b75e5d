import { apiKeySubject, LIMIT_MAX } from '@petstore/domain';
import type { WindowStatus } from '@petstore/rate-limit';
import { z } from 'zod';
import { defineOperation } from '../../define-operation.ts';
import { timeAsText } from '../schemas.ts';

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
  readonly ban?: { readonly until: Date; readonly level: number };
}

const count = (minimum: number, description: string) =>
  z.int().min(minimum).max(LIMIT_MAX).meta({ format: 'int32', description });

const LimitWindowResponse = z
  .object({
    limit: count(1, 'Maximum number of requests in any period as long as the window.'),
    used: count(0, 'Requests that count now. Exceeds `limit` if the limit was lowered since.'),
    remaining: count(0, 'Exactly this many more requests are admitted now.'),
    reset: timeAsText('When the next request becomes available, in UTC; the current time if none is used.'),
  })
  .meta({ id: 'LimitWindow', description: 'The use of one sliding window by a key.' });

const BanResponse = z
  .object({
    until: timeAsText('When it ends, in UTC.'),
    level: count(1, 'Counts from 1: bans of 1, 5, 15 and 60 minutes.'),
  })
  .meta({ id: 'Ban', description: 'A ban in force.' });

const LimitsResponse = z
  .object({
    minute: LimitWindowResponse,
    day: LimitWindowResponse,
    refusals: count(0, 'Refusals that now count towards a ban.'),
    ban: BanResponse.optional().meta({ description: 'Omitted if there is none; a banned key gets 429 instead.' }),
  })
  .meta({ id: 'Limits', description: 'The status of the limits of a key.' });

/** Returns the status of the caller's limits: `null` for callers in the same process, which have none. */
export const getCurrentLimits = defineOperation(
  {
    type: 'query',
    versions: { v2: 'beta' },
    openapi: {
      method: 'GET',
      path: '/limits',
      operationId: 'getLimits',
      summary: 'Get the rate limit status of the key',
      description:
        'Returns how many requests the API key has left in both rate limit windows, when they reset, and how many refusals ' +
        'count towards a ban. It counts as a request itself.',
      tags: ['limits'],
      successDescription: 'The status of the limits.',
    },
    rest: {
      response: LimitsResponse,
      examples: {
        limits: {
          summary: 'One request of each window is used.',
          value: {
            minute: { limit: 60, used: 1, remaining: 59, reset: '2026-12-01T09:31:01.000Z' },
            day: { limit: 1_000, used: 1, remaining: 999, reset: '2026-12-02T09:45:00.000Z' },
            refusals: 0,
          },
        },
      },
      errors: [],
    },
  },
  async ({ ctx }): Promise<CurrentLimits | null> => {
    if (ctx.principal.type === 'in-process') return null;
    const subject = apiKeySubject(ctx.principal.keyId, ctx.principal.plan);
    const { minute, day, refusals, ban } = await ctx.services.limiter.peek(subject);
    if (day === undefined) throw new Error('A key has a daily limit.');
    return {
      minute: useOf(minute),
      day: useOf(day),
      refusals,
      ...(ban && { ban: { until: new Date(ban.untilMs), level: ban.level } }),
    };
  },
);

const useOf = ({ limit, used, remaining, resetAtMs }: WindowStatus): WindowUse => ({
  limit,
  used,
  remaining,
  reset: new Date(resetAtMs),
});
