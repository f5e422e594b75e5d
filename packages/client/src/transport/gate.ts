import { RateLimitError } from '../errors.ts';
import { type ClientClock, pause, untilAborted } from './clock.ts';
import type { ServiceResponse } from './service-response.ts';

/** To be called once, when the head of the response has arrived or, without one, when none will. */
export type Release = (response?: ServiceResponse) => void;

/** Fewer than the refusals at once that the service takes for a caller that ignores them: more than 250. */
const IN_FLIGHT_MAX = 200;
/** A refusal (429) counts towards a ban for a minute at most; the extra second covers clocks of different speeds. */
const CAUTION_MS = 61_000;

/**
 * Keeps the key of a client from being banned, however many calls are made: after a refusal all wait for the time that it
 * names, then go one at a time for a minute. First come, first served.
 *
 * Where the wait is longer than anybody would wait, one request a minute is sent all the same: the plan may have been
 * changed.
 */
export class Gate {
  readonly #clock: ClientClock;
  readonly #maxWaitMs: number;
  #inFlight = 0;
  #blockedUntilMs = 0;
  #cautiousUntilMs = 0;
  #lastSentMs = 0;
  /** Settles when the last one in the queue has gone, or given up. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Wakes the first one in the queue, where it waits for a response. */
  #wake = () => {};

  /** @param maxWaitMs calls that would have to wait for longer are refused at once */
  constructor(clock: ClientClock, maxWaitMs: number) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Waits until a request may go.
   *
   * @param cost how many requests it counts as
   * @throws RateLimitError if the wait would be too long; the signal's reason, when it aborts
   */
  acquire(cost: number, signal: AbortSignal | undefined): Promise<Release> {
    const turn = this.#queue.then(() => this.#passed(cost, signal));
    this.#queue = turn.catch(() => {});
    return untilAborted(signal, turn).catch((error: unknown) => {
      // It may have had its turn in the same moment: nobody else would end it.
      turn.then(
        (release) => release(),
        () => {}, // it gave up by itself
      );
      throw error;
    });
  }

  async #passed(cost: number, signal: AbortSignal | undefined): Promise<Release> {
    for (;;) {
      signal?.throwIfAborted();
      const nowMs = this.#clock.now();
      const waitMs = this.#blockedUntilMs - nowMs;
      const isProbe = waitMs > this.#maxWaitMs;
      if (isProbe && nowMs < this.#lastSentMs + CAUTION_MS) throw tooLongError(waitMs);
      if (waitMs > 0 && !isProbe) await pause(this.#clock, waitMs, signal);
      else if (this.#inFlight < (nowMs < this.#cautiousUntilMs ? 1 : IN_FLIGHT_MAX)) {
        this.#inFlight++;
        this.#lastSentMs = nowMs;
        return (response) => this.#release(response, cost, isProbe);
      } else {
        const released = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        await untilAborted(signal, released);
      }
    }
  }

  #release(response: ServiceResponse | undefined, cost: number, isProbe: boolean): void {
    this.#inFlight--;
    const { status = 500, retryAfterSeconds = 0, headers } = response ?? {};
    const nowMs = this.#clock.now();
    if (status === 429) {
      // With room for it, this request alone is too much, such as a fifth long list: that counts towards no ban.
      const isRefusal = Number(headers?.get('x-ratelimit-remaining') ?? 0) < cost;
      if (isRefusal) this.#block(nowMs, retryAfterSeconds * 1_000);
    } else if (status < 500 && isProbe) this.#blockedUntilMs = nowMs;
    this.#wake();
  }

  #block(nowMs: number, waitMs: number): void {
    const untilMs = nowMs + waitMs;
    // Each refusal names the time at which one request may return: the first of them counts.
    this.#blockedUntilMs = this.#blockedUntilMs > nowMs ? Math.min(this.#blockedUntilMs, untilMs) : untilMs;
    this.#cautiousUntilMs = nowMs + CAUTION_MS;
  }
}

/** The error of a call that is not sent at all. */
function tooLongError(waitMs: number): RateLimitError {
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  const message = `Not sent: the service has refused requests, and asked to wait another ${retryAfterSeconds} s.`;
  return new RateLimitError(message, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds });
}
