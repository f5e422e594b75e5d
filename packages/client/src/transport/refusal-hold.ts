/**
 * Refusals (429) count towards a ban for a span of this length, which begins with one; the rest is for clocks that do not
 * run alike.
 */
const STRIKE_SPAN_MS = 61_000;

/**
 * Holds requests back after a refusal (429), so that the key is never banned, however much the caller asks for.
 *
 * Each refusal names a time to return at, and with it entitles to one request. While such times are due to come, one
 * request goes for each, and at its time. Until a strike span has passed, requests then go one at a time: no second one is
 * under way that could be refused without being entitled.
 */
export class RetryAfterGate {
  readonly #maxWaitMs: number;
  /** When requests may go, ascending; one for each refusal. */
  readonly #returnsAtMs: number[] = [];
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Its answer may be lost. */
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #isCautious = false;

  /** @param maxWaitMs holds that last longer are for nobody to wait for */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * When the next request may go: the present moment, a later one, or infinity where an answer has to come first.
   *
   * Through a hold that is too long to wait for goes one request for each strike span: the plan may have been changed.
   */
  earliestMs(nowMs: number, inFlight: number): number {
    const returnAtMs = this.#returnsAtMs[0] ?? nowMs;
    if (returnAtMs > nowMs && !this.#isProbeDue(returnAtMs, nowMs)) return returnAtMs;
    return this.#isCautious && inFlight > 0 ? Number.POSITIVE_INFINITY : nowMs;
  }

  /** Tells that a request goes. */
  recordRequest(nowMs: number): void {
    const [returnAtMs] = this.#returnsAtMs;
    if (returnAtMs === undefined) return;
    if (returnAtMs <= nowMs) this.#returnsAtMs.shift();
    else this.#probedAtMs = nowMs;
  }

  /** Tells of a refusal, and how long it asks to wait. */
  recordRefusal(waitMs: number, nowMs: number): void {
    this.#refusedAtMs = nowMs;
    this.#isCautious = true;
    const returnAtMs = nowMs + waitMs;
    let index = this.#returnsAtMs.length;
    while (index > 0 && (this.#returnsAtMs[index - 1] ?? 0) > returnAtMs) index--;
    this.#returnsAtMs.splice(index, 0, returnAtMs);
  }

  /** Tells of an answer that shows that a request was let in. */
  recordAdmission(sentAtMs: number, nowMs: number): void {
    if (!this.#isCautious || sentAtMs < this.#refusedAtMs || nowMs < this.#refusedAtMs + STRIKE_SPAN_MS) return;
    this.#isCautious = false;
    this.#returnsAtMs.length = 0;
  }

  #isProbeDue(returnAtMs: number, nowMs: number): boolean {
    const lastMs = Math.max(this.#refusedAtMs, this.#probedAtMs);
    return returnAtMs - nowMs > this.#maxWaitMs && nowMs >= lastMs + STRIKE_SPAN_MS;
  }
}
