import type { BannedDecision, RateLimitDecision, RateLimiter, Subject } from '../../src/index.ts';

/** More refusals at once than any pool is granted on the plans that tests ban a key of. */
const ATTEMPTS_MAX = 1_000;

/** Sends requests without a pause until the key is banned. @returns the first refusal by the ban */
export async function hammer(limiter: Pick<RateLimiter, 'check'>, subject: Subject): Promise<BannedDecision> {
  let decision: RateLimitDecision | undefined;
  for (let i = 0; i < ATTEMPTS_MAX; i++) {
    decision = await limiter.check(subject, 1);
    if (decision.outcome === 'banned') return decision;
  }
  throw new Error(`${ATTEMPTS_MAX} requests at once were not banned, the last was ${decision?.outcome}`);
}
