/** Numbers that look random, the same for one seed. */
export class SeededRandom {
  #state: number;

  /** @param stream distinguishes several sequences of one seed */
  constructor(seed: number, stream: string) {
    this.#state =
      [...stream].reduce((sum, character) => Math.imul(sum ^ character.charCodeAt(0), 0x01000193), seed) >>> 0;
  }

  /** From 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From `min` up to, but not including, `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** @throws RangeError where there is none to pick */
  pick<Value>(values: readonly Value[]): Value {
    const picked = values[Math.floor(this.next() * values.length)];
    if (picked === undefined) throw new RangeError('there is nothing to pick from');
    return picked;
  }

  /** Picks a name as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, { readonly weight: number }>>): Name {
    const names = Object.keys(weights) as Name[]; // of its own keys
    let rest = this.next() * names.reduce((sum, name) => sum + weights[name].weight, 0);
    for (const name of names) {
      rest -= weights[name].weight;
      if (rest < 0) return name;
    }
    return this.pick(names);
  }
}
