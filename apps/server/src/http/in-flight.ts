/** Counts what each caller has in flight, up to a bound. */
export class InFlightCounts {
  readonly #counts = new Map<string, number>();

  /** @returns false, and counts nothing, where the caller would have more than `max` in flight */
  take(caller: string, count: number, max: number): boolean {
    const inFlight = (this.#counts.get(caller) ?? 0) + count;
    if (inFlight > max) return false;
    this.#counts.set(caller, inFlight);
    return true;
  }

  /** How much a caller has in flight. */
  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  give(caller: string, count: number): void {
    const inFlight = (this.#counts.get(caller) ?? 0) - count;
    if (inFlight > 0) this.#counts.set(caller, inFlight);
    else this.#counts.delete(caller);
  }
}

/** What one request is counted for, until it is over. */
export class HeldCounts {
  #held: { readonly counts: InFlightCounts; readonly caller: string; readonly count: number }[] = [];

  /** How much is held of something. */
  count(counts: InFlightCounts): number {
    return this.#held.reduce((sum, held) => (held.counts === counts ? sum + held.count : sum), 0);
  }

  /** @returns false, and holds nothing more, where the caller would have more than `max` in flight */
  take(counts: InFlightCounts, caller: string, count: number, max: number): boolean {
    if (!counts.take(caller, count, max)) return false;
    this.#held.push({ counts, caller, count });
    return true;
  }

  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const { counts, caller, count } of held) counts.give(caller, count);
  }
}

/** Counts the requests of the whole listener, of all callers together. */
export class LoadShedder {
  readonly #maxRequestsInFlight: number;
  #requestsInFlight = 0;
  #isClosing = false;

  constructor(maxRequestsInFlight: number) {
    this.#maxRequestsInFlight = maxRequestsInFlight;
  }

  get requestsInFlight(): number {
    return this.#requestsInFlight;
  }

  /** Whether more is in flight than the listener takes on. */
  get isOverloaded(): boolean {
    return this.#requestsInFlight > this.#maxRequestsInFlight;
  }

  /** Whether the listener is about to end: each response is then the last of its connection. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  begin(): void {
    this.#requestsInFlight++;
  }

  end(): void {
    this.#requestsInFlight--;
  }

  beginClosing(): void {
    this.#isClosing = true;
  }
}
