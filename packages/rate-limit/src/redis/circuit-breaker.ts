/** Calls that fail one after the other before the breaker opens. */
const FAILURES_IN_A_ROW_MAX = 5;
/** Of at least this many calls within the last second, half may fail. */
const CALLS_MIN = 20;
const SLICE_MS = 100;
const SLICES = 10;

/**
 * Sliding-window circuit breaker: opens after 5 failures in a row, or when half of at least 20 calls within a second have
 * failed. It is closed at first, and once open closes only by {@link close}: its owner probes.
 */
export class CircuitBreaker {
  readonly #calls = new Array<number>(SLICES).fill(0);
  readonly #failures = new Array<number>(SLICES).fill(0);
  #slice = 0;
  #failuresInARow = 0;
  #isOpen = false;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @param nowMs any clock that never runs backwards */
  recordSuccess(nowMs: number): void {
    this.#failuresInARow = 0;
    increment(this.#calls, this.#advanceTo(nowMs));
  }

  recordFailure(nowMs: number): void {
    this.#failuresInARow += 1;
    const i = this.#advanceTo(nowMs);
    increment(this.#calls, i);
    increment(this.#failures, i);
    if (this.#failuresInARow >= FAILURES_IN_A_ROW_MAX || this.#isHalfFailing()) this.open();
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
    this.#failuresInARow = 0;
    this.#calls.fill(0);
    this.#failures.fill(0);
  }

  #isHalfFailing(): boolean {
    const calls = sum(this.#calls);
    return calls >= CALLS_MIN && sum(this.#failures) * 2 >= calls;
  }

  /** The index of the present tenth of a second, after clearing what is older than a second. */
  #advanceTo(nowMs: number): number {
    const slice = Math.floor(nowMs / SLICE_MS);
    const stale = Math.min(slice - this.#slice, SLICES);
    for (let i = 0; i < stale; i++) {
      this.#calls[(slice - i) % SLICES] = 0;
      this.#failures[(slice - i) % SLICES] = 0;
    }
    this.#slice = slice;
    return slice % SLICES;
  }
}

function increment(counts: number[], i: number): void {
  counts[i] = (counts[i] ?? 0) + 1;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
