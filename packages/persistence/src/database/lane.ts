/** The error for callers that wait in a lane when it closes. */
export class LaneClosedError extends Error {
  override readonly name = 'LaneClosedError';
}

/** Admits a limited number of callers at a time; the others wait in turn. */
export class Lane {
  readonly #max: number;
  readonly #waiting: PromiseWithResolvers<Disposable>[] = [];
  readonly #place: Disposable = { [Symbol.dispose]: () => this.#leave() };
  #enteredCount = 0;
  #narrowedTo = Number.POSITIVE_INFINITY;
  #widening: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** The number of callers that are in the lane or wait for it. */
  get count(): number {
    return this.#enteredCount + this.#waiting.length;
  }

  /**
   * @returns a place, to be disposed of once
   * @throws LaneClosedError
   */
  async enter(): Promise<Disposable> {
    if (this.#isClosed) throw new LaneClosedError();
    if (this.#enteredCount < this.#limit) {
      this.#enteredCount++;
      return this.#place;
    }
    const waiting = Promise.withResolvers<Disposable>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  /** Admits fewer callers for a time. */
  narrow(max: number, durationMs: number): void {
    this.#narrowedTo = max;
    clearTimeout(this.#widening);
    this.#widening = setTimeout(() => {
      this.#narrowedTo = Number.POSITIVE_INFINITY;
      this.#admit();
    }, durationMs).unref();
  }

  /** Admits no more callers. Those in the lane may leave. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#widening);
    for (const { reject } of this.#waiting.splice(0)) reject(new LaneClosedError());
  }

  get #limit(): number {
    return Math.min(this.#max, this.#narrowedTo);
  }

  #leave(): void {
    this.#enteredCount--;
    this.#admit();
  }

  #admit(): void {
    while (this.#enteredCount < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#enteredCount++;
      next.resolve(this.#place);
    }
  }
}
