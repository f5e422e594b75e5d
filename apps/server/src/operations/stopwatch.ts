/** Adds up how long something lasts that begins and ends again and again. */
export class Stopwatch {
  #elapsedMs = 0;
  #startedAtMs: number | undefined;

  /** Changes nothing where it runs already. */
  start(): void {
    this.#startedAtMs ??= performance.now();
  }

  stop(): void {
    this.#elapsedMs = this.#readMs();
    this.#startedAtMs = undefined;
  }

  /** What was added up so far, what still lasts included. */
  get seconds(): number {
    return this.#readMs() / 1_000;
  }

  #readMs(): number {
    return this.#elapsedMs + (this.#startedAtMs === undefined ? 0 : performance.now() - this.#startedAtMs);
  }
}
