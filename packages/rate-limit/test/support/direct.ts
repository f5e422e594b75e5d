import type { Use } from '../../src/algorithm.ts';
import { decisionOf, snapshotOf } from '../../src/decision.ts';
import type { Subject } from '../../src/index.ts';
import type { RedisLimiter } from '../../src/redis-limiter.ts';

/** Counts in Redis, whatever becomes of it. */
export const directly = (limiter: RedisLimiter) => ({
  check: async (subject: Subject, cost: number) =>
    decisionOf(await limiter.call('decide', subject, { minute: cost, day: cost }), subject),
  peek: async (subject: Subject) => snapshotOf(await limiter.call('read', subject), subject),
  debit: (subject: Subject, use: Use) => limiter.call('debit', subject, use),
  lift: (subject: Subject) => limiter.call('lift', subject),
});
