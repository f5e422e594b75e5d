/** What the algorithm is measured by: every single hit, kept for ever. */
export class ExactLog {
  readonly #hits: { readonly atMs: number; readonly cost: number }[] = [];

  add(atMs: number, cost: number): void {
    this.#hits.push({ atMs, cost });
  }

  /** The cost in `(toMs - lengthMs, toMs]`. */
  sum(toMs: number, lengthMs: number): number {
    let sum = 0;
    for (let i = this.#hits.length - 1; i >= 0; i--) {
      const hit = this.#hits[i];
      if (hit !== undefined && hit.atMs > toMs - lengthMs && hit.atMs <= toMs) sum += hit.cost;
    }
    return sum;
  }
}
