import type { CodesOfClass } from '../error-codes.ts';
import { RateLimitError } from '../errors.ts';
import { type Clock, pause, untilAborted } from './clock.ts';
import type { ServiceResponse } from './service-response.ts';

/** Call it once: when the head of the response has arrived (429: its body, too), or without a response when none will. */
export type Release = (response?: ServiceResponse) => void;

/** The codes of refusals that block all calls. */
type BlockingCode = Exclude<CodesOfClass['RateLimitError'], 'too_many_in_flight'>;

/** Below the number of concurrent refusals (more than 250) that the service takes for disregard of its limits. */
const IN_FLIGHT_MAX = 200;
/** A refusal (429) counts towards a ban for a minute at most; the extra second covers clocks of different speeds. */
const CAUTION_MS = 61_000;

/**
 * Prevents a ban of the client's key, however many calls are made. After a refusal, all calls wait for the time that it
 * names, and then go one at a time for a minute. First come, first served.
 *
 * If the wait is longer than any call would wait, one request a minute is sent nevertheless: the plan may have changed.
 */
export class Gate {
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  #inFlight = 0;
  #blockedUntilMs = 0;
  #cautiousUntilMs = 0;
  /** Why calls are blocked: the code of the last refusal. */
  #blockedBy: BlockingCode = 'rate_limit_exceeded';
  #lastSentMs = 0;
  /** Settles when the last call in the queue has gone or given up. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Wakes the first call in the queue if it waits for a response. */
  #wake = () => {};

  /** @param maxWaitMs calls that would have to wait longer are refused at once */
  constructor(clock: Clock, maxWaitMs: number) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Waits until a request may go.
   *
   * @throws RateLimitError if the wait would be too long; the signal's reason if it aborts
   */
  acquire(signal: AbortSignal | undefined): Promise<Release> {
    const turn = this.#queue.then(() => this.#passed(signal));
    this.#queue = turn.catch(() => {});
    return untilAborted(signal, turn).catch((error: unknown) => {
      // Its turn may have come at the same moment: it must be ended here.
      turn.then(
        (release) => release(),
        () => {}, // it gave up itself
      );
      throw error;
    });
  }

  async #passed(signal: AbortSignal | undefined): Promise<Release> {
    for (;;) {
      signal?.throwIfAborted();
      const nowMs = this.#clock.now();
      const waitMs = this.#blockedUntilMs - nowMs;
      const isProbe = waitMs > this.#maxWaitMs;
      if (isProbe && nowMs < this.#lastSentMs + CAUTION_MS) throw tooLongError(waitMs, this.#blockedBy);
      if (waitMs > 0 && !isProbe) await pause(this.#clock, waitMs, signal);
      else if (this.#inFlight < (nowMs < this.#cautiousUntilMs ? 1 : IN_FLIGHT_MAX)) {
        this.#inFlight++;
        this.#lastSentMs = nowMs;
        return (response) => this.#release(response, isProbe);
      } else {
        const released = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        await untilAborted(signal, released);
      }
    }
  }

  #release(response: ServiceResponse | undefined, isProbe: boolean): void {
    this.#inFlight--;
    const { status = 500, retryAfterSeconds = 0, text = '' } = response ?? {};
    const nowMs = this.#clock.now();
    if (status === 429) {
      // Only this request is too much, such as a fifth long list: that does not count towards a ban.
      const isTooMuchInFlight = text.includes('"too_many_in_flight"');
      if (!isTooMuchInFlight) {
        this.#block(nowMs, retryAfterSeconds * 1_000);
        this.#blockedBy = text.includes('"api_key_banned"') ? 'api_key_banned' : 'rate_limit_exceeded';
      }
    } else if (status < 500 && isProbe) this.#blockedUntilMs = nowMs;
    this.#wake();
  }

  #block(nowMs: number, waitMs: number): void {
    const untilMs = nowMs + waitMs;
    // Each refusal names a time at which one request may return: the earliest applies.
    this.#blockedUntilMs = this.#blockedUntilMs > nowMs ? Math.min(this.#blockedUntilMs, untilMs) : untilMs;
    this.#cautiousUntilMs = nowMs + CAUTION_MS;
  }
}

/** The error of a call that is not sent. */
function tooLongError(waitMs: number, code: BlockingCode): RateLimitError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  const message = `Not sent: the service has refused requests, and asked to wait another ${retryAfterSeconds} s.`;
  return new RateLimitError(message, { code, status: 429, retryAfterSeconds });
}
