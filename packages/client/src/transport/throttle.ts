import { RateLimitError } from '../errors.ts';
import type { ClientClock } from './clock.ts';
import { RetryAfterGate } from './refusal-hold.ts';
import { type RequestOutcome, RequestSpacing, type SpacedRequest } from './request-spacing.ts';
import { WAIT_SLACK } from './window-budget.ts';

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
  /** Of an answer that need not be the service's own, if there was one. */
  | { readonly type: 'unknown'; readonly headers: Headers | undefined };

/** What a request enters with, and leaves with. */
export interface Turn {
  /** By the clock. */
  readonly sentAtMs: number;
  readonly isFree: boolean;
  readonly spaced: SpacedRequest | undefined;
}

const WAIT = Symbol('wait');

const OUTCOMES = {
  admitted: 'counted',
  refused: 'refused',
  unknown: 'unknown',
} as const satisfies Record<AnswerHead['type'], RequestOutcome>;

interface Waiter {
  readonly cost: number;
  admit(turn: Turn): void;
  refuse(error: RateLimitError): void;
}

/** Decides when requests go: those of one client, in the order in which they came. */
export class Throttle {
  readonly #clock: ClientClock;
  readonly #maxWaitMs: number;
  readonly #hold: RetryAfterGate;
  readonly #spacing: RequestSpacing | undefined;
  readonly #waiting = new Set<Waiter>();
  #inFlight = 0;
  #cancelWakeUp: (() => void) | undefined;

  constructor({ clock, maxWaitMs, spaceRequests }: ThrottleOptions) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
    this.#hold = new RetryAfterGate(maxWaitMs);
    this.#spacing = spaceRequests ? new RequestSpacing(maxWaitMs) : undefined;
  }

  /**
   * Waits for a request's turn. Whoever entered has to leave.
   *
   * @param cost of how many requests it takes the place
   * @throws RateLimitError where the wait would be too long
   * @throws the signal's reason, when it aborts
   */
  enter(cost: number, signal: AbortSignal | undefined): Promise<Turn> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // The time to wake up may have been that of one who is gone.
      const letOut = () => this.#letOut();
      const leaveQueue = () => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        cost,
        admit(turn) {
          leaveQueue();
          resolve(turn);
        },
        refuse(error) {
          leaveQueue();
          reject(error);
        },
      };
      function onAbort() {
        leaveQueue();
        reject(signal?.reason);
        letOut();
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      if (this.#waiting.size === 1) this.#letOut();
    });
  }

  /** Enters with a request that the service does not count, and that need not wait. */
  enterFree(): Turn {
    const nowMs = this.#clock.now();
    return { sentAtMs: nowMs, isFree: true, spaced: this.#spacing?.begin(0, nowMs) };
  }

  /** Tells that the head of an answer is there, or that none will come. */
  leave({ sentAtMs, isFree, spaced }: Turn, head: AnswerHead): void {
    const nowMs = this.#clock.now();
    if (!isFree) {
      this.#inFlight--;
      if (head.type === 'admitted') this.#hold.recordAdmission(sentAtMs, nowMs);
      if (head.type === 'refused') this.#hold.recordRefusal(head.waitMs, nowMs);
    }
    if (spaced !== undefined) this.#spacing?.end(spaced, OUTCOMES[head.type], head.headers, nowMs);
    this.#letOut();
  }

  /** Lets out all that may go, in order, and wakes up for the next. */
  #letOut(): void {
    this.#cancelWakeUp?.();
    this.#cancelWakeUp = undefined;
    for (const waiter of this.#waiting) {
      const verdict = this.#judgeNext(waiter.cost);
      if (verdict === WAIT) return;
      if (verdict instanceof RateLimitError) waiter.refuse(verdict);
      else waiter.admit(verdict);
    }
  }

  #judgeNext(cost: number): Turn | RateLimitError | typeof WAIT {
    const nowMs = this.#clock.now();
    const heldUntilMs = this.#hold.earliestMs(nowMs, this.#inFlight);
    if (Number.isFinite(heldUntilMs) && heldUntilMs - nowMs > this.#maxWaitMs) {
      return refusalFor(heldUntilMs - nowMs, 'the service has refused requests, and asked to wait');
    }
    const spacedUntilMs = this.#spacing?.earliestMs(cost, nowMs, this.#inFlight) ?? nowMs;
    const isTooLong = spacedUntilMs - nowMs > this.#maxWaitMs * WAIT_SLACK;
    // Answers that are still to come may tell that there is room.
    if (isTooLong && this.#inFlight > 0) return WAIT;
    if (isTooLong && this.#spacing?.isProbeDue(nowMs) !== true) {
      return refusalFor(spacedUntilMs - nowMs, "the limits of the key's plan leave no room for");
    }
    const earliestMs = Math.max(heldUntilMs, isTooLong ? nowMs : spacedUntilMs);
    if (earliestMs > nowMs) {
      // Where an answer has to come first, its coming is the wake-up.
      if (Number.isFinite(earliestMs)) {
        this.#cancelWakeUp = this.#clock.schedule(() => this.#letOut(), earliestMs - nowMs);
      }
      return WAIT;
    }
    this.#inFlight++;
    this.#hold.recordRequest(nowMs);
    return { sentAtMs: nowMs, isFree: false, spaced: this.#spacing?.begin(cost, nowMs) };
  }
}

/** The error of a call that is not sent at all. */
function refusalFor(waitMs: number, reason: string): RateLimitError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  const message = `Not sent: ${reason} another ${retryAfterSeconds} s.`;
  return new RateLimitError(message, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds });
}
