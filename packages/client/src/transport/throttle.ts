import { RateLimitError } from '../errors.ts';
import type { ClientClock } from './clock.ts';
import { readRateLimitField } from './rate-limit-field.ts';
import { RefusalHold } from './refusal-hold.ts';
import { RequestSpacing } from './request-spacing.ts';

export interface ThrottleOptions {
  readonly clock: ClientClock;
  /** A hold that lasts longer is waited for by nobody: calls are refused at once. */
  readonly maxWaitMs: number;
  /** Whether requests are spread by the `RateLimit` headers. */
  readonly spaceRequests: boolean;
}

/** What the head of an answer says. */
export type AnswerHead =
  | { readonly type: 'refused'; readonly waitMs: number; readonly headers: Headers }
  | { readonly type: 'admitted'; readonly headers: Headers }
  /** Of an answer that need not be the service's own. */
  | { readonly type: 'unknown' };

const WAIT = Symbol('wait');

interface Waiter {
  admit(sentAtMs: number): void;
  refuse(error: RateLimitError): void;
}

/** Decides when requests go: those of one client, in the order in which they came. */
export class Throttle {
  readonly #clock: ClientClock;
  readonly #maxWaitMs: number;
  readonly #hold: RefusalHold;
  readonly #spacing: RequestSpacing | undefined;
  readonly #waiting = new Set<Waiter>();
  #inFlight = 0;
  #cancelWakeUp: (() => void) | undefined;

  constructor({ clock, maxWaitMs, spaceRequests }: ThrottleOptions) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
    this.#hold = new RefusalHold(maxWaitMs);
    this.#spacing = spaceRequests ? new RequestSpacing(maxWaitMs) : undefined;
  }

  /**
   * Waits for a request's turn. Whoever entered has to leave.
   *
   * @returns when the request goes, by the clock
   * @throws RateLimitError where the service asked for a wait that is too long
   * @throws the signal's reason, when it aborts
   */
  enter(signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leaveQueue = () => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        admit(sentAtMs) {
          leaveQueue();
          resolve(sentAtMs);
        },
        refuse(error) {
          leaveQueue();
          reject(error);
        },
      };
      function onAbort() {
        leaveQueue();
        reject(signal?.reason);
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      if (this.#waiting.size === 1) this.#letOut();
    });
  }

  /**
   * Tells that the head of an answer is there, or that none will come.
   *
   * @param sentAtMs what {@link enter} gave
   */
  leave(sentAtMs: number, head: AnswerHead): void {
    const nowMs = this.#clock.now();
    this.#inFlight--;
    if (head.type === 'admitted') this.#hold.recordAdmission(sentAtMs, nowMs);
    if (head.type === 'refused') this.#hold.recordRefusal(head.waitMs, nowMs);
    if (head.type !== 'unknown') {
      this.#spacing?.recordStanding(readRateLimitField(head.headers.get('ratelimit')), nowMs);
    }
    this.#letOut();
  }

  /** Lets out all that may go, in order, and wakes up for the next. */
  #letOut(): void {
    this.#cancelWakeUp?.();
    this.#cancelWakeUp = undefined;
    for (const waiter of this.#waiting) {
      const verdict = this.#judgeNext();
      if (verdict === WAIT) return;
      if (typeof verdict === 'number') waiter.admit(verdict);
      else waiter.refuse(verdict);
    }
  }

  #judgeNext(): number | RateLimitError | typeof WAIT {
    const nowMs = this.#clock.now();
    const heldUntilMs = this.#hold.earliestMs(nowMs, this.#inFlight);
    if (heldUntilMs - nowMs > this.#maxWaitMs && heldUntilMs !== Number.POSITIVE_INFINITY) {
      return refusalFor(heldUntilMs - nowMs);
    }
    const earliestMs = Math.max(heldUntilMs, this.#spacing?.earliestMs(nowMs, this.#inFlight) ?? nowMs);
    if (earliestMs > nowMs) {
      // Where an answer has to come first, its coming is the wake-up.
      if (earliestMs !== Number.POSITIVE_INFINITY) {
        this.#cancelWakeUp = this.#clock.schedule(() => this.#letOut(), earliestMs - nowMs);
      }
      return WAIT;
    }
    this.#inFlight++;
    this.#hold.recordRequest(nowMs);
    this.#spacing?.recordRequest(nowMs);
    return nowMs;
  }
}

/** The error of a call that is not sent at all. */
function refusalFor(waitMs: number): RateLimitError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  const message = `Not sent: the service has refused requests, and asked to wait another ${retryAfterSeconds} s.`;
  return new RateLimitError(message, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds });
}
