import { type ApiKeyId, FREE_CALLS_PER_MINUTE, PREFLIGHTS_PER_MINUTE } from '@petstore/domain';
import { type ClientAddressSubject, InProcessLimiter, type RateLimitDecision } from '@petstore/rate-limit';

/**
 * Bounds what takes nothing from anybody's limits, in windows of its own that this process keeps: Redis never hears of it.
 */
export class FreeCalls {
  readonly #calls: InProcessLimiter;
  readonly #preflights: InProcessLimiter;

  /** @param nowMs the clock, in milliseconds since the epoch */
  constructor(nowMs: () => number) {
    this.#calls = new InProcessLimiter({ nowMs });
    this.#preflights = new InProcessLimiter({ nowMs });
  }

  /** A request of a key that holds a call which costs nothing. */
  checkCall(key: ApiKeyId): RateLimitDecision {
    return this.#calls.check(windowOf(key, FREE_CALLS_PER_MINUTE), 1);
  }

  /** A preflight, which carries no key. */
  checkPreflight(address: ClientAddressSubject): RateLimitDecision {
    return this.#preflights.check({ ...address, perMinute: PREFLIGHTS_PER_MINUTE }, 1);
  }
}

/** One window, and never a ban: as that of an address. */
const windowOf = (storageKey: string, perMinute: number): ClientAddressSubject => ({
  type: 'client-address',
  storageKey,
  perMinute,
  perDay: undefined,
});
