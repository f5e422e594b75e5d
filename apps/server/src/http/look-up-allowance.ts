/** Look-ups that an address over its limit may still cause. */
const LOOK_UPS_PER_SECOND = 5;
/** Addresses that may have look-ups in the same second. */
const ADDRESSES_MAX = 10_000;

/**
 * Lets a few unknown keys of an address be looked up although it is over its limit, so that a good key behind the same
 * address is let in within a moment, and forged ones cost next to nothing.
 */
export class LookUpAllowance {
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #secondEndsAtMs = 0;

  /** @param nowMs a clock that never runs backwards, in milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @param address by which it is counted */
  take(address: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#secondEndsAtMs) {
      this.#counts.clear();
      this.#secondEndsAtMs = nowMs + 1_000;
    }
    const count = this.#counts.get(address) ?? 0;
    if (count >= LOOK_UPS_PER_SECOND || (count === 0 && this.#counts.size >= ADDRESSES_MAX)) return false;
    this.#counts.set(address, count + 1);
    return true;
  }
}
