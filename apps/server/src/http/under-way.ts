/** Counts what callers have under way, and refuses what is beyond a bound: to that caller alone. */
export class UnderWay {
  readonly #counts = new Map<string, number>();

  /** @returns false, and takes nothing, where the caller would have more than `max` under way */
  take(caller: string, count: number, max: number): boolean {
    const underWay = (this.#counts.get(caller) ?? 0) + count;
    if (underWay > max) return false;
    this.#counts.set(caller, underWay);
    return true;
  }

  give(caller: string, count: number): void {
    const underWay = (this.#counts.get(caller) ?? 0) - count;
    if (underWay > 0) this.#counts.set(caller, underWay);
    else this.#counts.delete(caller);
  }
}

/** What one request has under way on behalf of its caller, until it is over. */
export class Holding {
  #held: { readonly underWay: UnderWay; readonly caller: string; readonly count: number }[] = [];

  /** How many of something are held. */
  count(underWay: UnderWay): number {
    return this.#held.reduce((sum, held) => (held.underWay === underWay ? sum + held.count : sum), 0);
  }

  /** @returns false, and takes nothing, where the caller would have more than `max` under way */
  take(underWay: UnderWay, caller: string, count: number, max: number): boolean {
    if (!underWay.take(caller, count, max)) return false;
    this.#held.push({ underWay, caller, count });
    return true;
  }

  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const { underWay, caller, count } of held) underWay.give(caller, count);
  }
}
