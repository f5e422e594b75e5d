import type { WindowStanding } from './rate-limit-field.ts';

/** Spreads requests over the time that the `RateLimit` headers leave for them, so that none is refused. */
export class RequestSpacing {
  readonly #maxWaitMs: number;
  #spacingMs: number | undefined;
  #pausedUntilMs = 0;
  #lastSentMs = Number.NEGATIVE_INFINITY;

  /** @param maxWaitMs windows that give more only later than this are not spread over: a day would take the day */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** When the next request may go. Until the first answer tells the limits, requests go one at a time. */
  earliestMs(nowMs: number, inFlight: number): number {
    if (this.#spacingMs === undefined) return inFlight > 0 ? Number.POSITIVE_INFINITY : nowMs;
    return Math.max(nowMs, this.#pausedUntilMs, this.#lastSentMs + this.#spacingMs);
  }

  /** Tells that a request goes. */
  recordRequest(nowMs: number): void {
    this.#lastSentMs = nowMs;
  }

  /** Tells what an answer says of the limits. */
  recordStanding(windows: readonly WindowStanding[], nowMs: number): void {
    this.#spacingMs = 0;
    for (const { remaining, resetSeconds } of windows) {
      const resetMs = resetSeconds * 1_000;
      if (resetMs > this.#maxWaitMs) continue;
      if (remaining > 0) this.#spacingMs = Math.max(this.#spacingMs, resetMs / remaining);
      else this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + resetMs);
    }
  }
}
