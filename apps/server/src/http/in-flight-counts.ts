/** Counts what each caller has in flight, up to a bound. */
export class InFlightCounts {
  readonly #counts = new Map<string, number>();

  /**
   * @returns a function that releases the places, and has no effect when called again; `undefined`, with nothing counted,
   *   if the caller would then have more than `max`
   */
  take(caller: string, count: number, max: number): (() => void) | undefined {
    const before = this.#counts.get(caller) ?? 0;
    if (before + count > max) return undefined;
    this.#counts.set(caller, before + count);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const left = (this.#counts.get(caller) ?? 0) - count;
      if (left > 0) this.#counts.set(caller, left);
      else this.#counts.delete(caller);
    };
  }

  /** How much a caller has in flight. */
  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }
}
