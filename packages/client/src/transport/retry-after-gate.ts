/** A refusal (429) counts towards a ban for a minute at most; the extra second covers clocks of different speeds. */
const REFUSAL_MEMORY_MS = 61_000;
/** Fewer than the refusals at once that the service takes for a caller that ignores them: more than 250. */
const IN_FLIGHT_MAX = 200;

/**
 * Holds requests back after a refusal (429), so that this client never gets its key banned, however many calls are made.
 *
 * Each refusal names a time to return at, and with it permits one request. Until those times have passed, one request
 * goes for each, when its time has come. Until a minute has passed, requests then go one at a time: no second one is
 * in flight that could be refused without a permit.
 */
export class RetryAfterGate {
  readonly #maxWaitMs: number;
  /** When requests may go, ascending; one for each refusal. */
  readonly #returnsAtMs: number[] = [];
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** When the last probe was sent. Its response may be lost. */
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #isCautious = false;

  /** @param maxWaitMs calls are not kept waiting for longer */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * When the next request may go: now, later, or infinity where a response has to come first.
   *
   * Where the wait is too long, one request is sent each minute all the same: the plan may have been changed.
   */
  earliestMs(nowMs: number, inFlight: number): number {
    const returnAtMs = this.#returnsAtMs[0] ?? nowMs;
    if (returnAtMs > nowMs && !this.#isProbeDue(returnAtMs, nowMs)) return returnAtMs;
    return inFlight >= (this.#isCautious ? 1 : IN_FLIGHT_MAX) ? Number.POSITIVE_INFINITY : nowMs;
  }

  recordRequest(nowMs: number): void {
    const [returnAtMs] = this.#returnsAtMs;
    if (returnAtMs === undefined) return;
    if (returnAtMs <= nowMs) this.#returnsAtMs.shift();
    else this.#probedAtMs = nowMs;
  }

  /** @param waitMs the time that the refusal asks to wait */
  recordRefusal(waitMs: number, nowMs: number): void {
    this.#refusedAtMs = nowMs;
    this.#isCautious = true;
    const returnAtMs = nowMs + waitMs;
    let index = this.#returnsAtMs.length;
    while (index > 0 && (this.#returnsAtMs[index - 1] ?? 0) > returnAtMs) index--;
    this.#returnsAtMs.splice(index, 0, returnAtMs);
  }

  /** @param sentAtMs when the request was sent that the service admitted */
  recordAdmission(sentAtMs: number, nowMs: number): void {
    if (!this.#isCautious || sentAtMs < this.#refusedAtMs || nowMs < this.#refusedAtMs + REFUSAL_MEMORY_MS) return;
    this.#isCautious = false;
    this.#returnsAtMs.length = 0;
  }

  #isProbeDue(returnAtMs: number, nowMs: number): boolean {
    const lastMs = Math.max(this.#refusedAtMs, this.#probedAtMs);
    return returnAtMs - nowMs > this.#maxWaitMs && nowMs >= lastMs + REFUSAL_MEMORY_MS;
  }
}
