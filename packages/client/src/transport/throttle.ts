import { RateLimitError } from '../errors.ts';
import type { ClientClock } from './clock.ts';
import { RetryAfterGate } from './retry-after-gate.ts';

/** What the response says about the limits. `unknown`: nothing, or there is none. */
export type RequestOutcome =
  | { readonly type: 'refused'; readonly waitMs: number }
  | { readonly type: 'admitted' }
  | { readonly type: 'unknown' };

/** Allows one request. Has to be released. */
export interface Permit {
  /** To be called once, when the head of the response has arrived or none will. */
  release(outcome: RequestOutcome): void;
}

interface Waiter {
  admit(permit: Permit): void;
  refuse(error: RateLimitError): void;
}

/** Decides when the requests of one client go, first come, first served. */
export class Throttle {
  readonly #clock: ClientClock;
  readonly #maxWaitMs: number;
  readonly #gate: RetryAfterGate;
  readonly #waiting = new Set<Waiter>();
  #inFlight = 0;
  #cancelWakeUp: (() => void) | undefined;

  /** @param maxWaitMs calls that would have to wait for longer are refused at once */
  constructor(clock: ClientClock, maxWaitMs: number) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
    this.#gate = new RetryAfterGate(maxWaitMs);
  }

  /**
   * Waits until a request may go.
   *
   * @throws RateLimitError where the wait would be too long
   * @throws the signal's reason, when it aborts
   */
  acquire(signal: AbortSignal | undefined): Promise<Permit> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leaveQueue = () => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        admit(permit) {
          leaveQueue();
          resolve(permit);
        },
        refuse(error) {
          leaveQueue();
          reject(error);
        },
      };
      const onAbort = () => {
        leaveQueue();
        reject(signal?.reason);
        // The wake-up may have been scheduled for this one.
        this.#admitWaiting();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      if (this.#waiting.size === 1) this.#admitWaiting();
    });
  }

  /** Admits all that may go, in order, and schedules the next look. */
  #admitWaiting(): void {
    this.#cancelWakeUp?.();
    this.#cancelWakeUp = undefined;
    for (const waiter of this.#waiting) {
      const nowMs = this.#clock.now();
      const waitMs = this.#gate.earliestMs(nowMs, this.#inFlight) - nowMs;
      // The next release looks again.
      if (waitMs === Number.POSITIVE_INFINITY) return;
      if (waitMs > this.#maxWaitMs) waiter.refuse(tooLongError(waitMs));
      else if (waitMs > 0) {
        this.#cancelWakeUp = this.#clock.schedule(() => this.#admitWaiting(), waitMs);
        return;
      } else waiter.admit(this.#createPermit(nowMs));
    }
  }

  #createPermit(sentAtMs: number): Permit {
    this.#inFlight++;
    this.#gate.recordRequest(sentAtMs);
    return {
      release: (outcome) => {
        this.#inFlight--;
        const nowMs = this.#clock.now();
        if (outcome.type === 'admitted') this.#gate.recordAdmission(sentAtMs, nowMs);
        if (outcome.type === 'refused') this.#gate.recordRefusal(outcome.waitMs, nowMs);
        this.#admitWaiting();
      },
    };
  }
}

/** The error of a call that is not sent at all. */
function tooLongError(waitMs: number): RateLimitError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  const message = `Not sent: the service has refused requests, and asked to wait another ${retryAfterSeconds} s.`;
  return new RateLimitError(message, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds });
}
