import { LRUCache } from 'lru-cache';
import type { Subject } from './subject.ts';

const KNOWN_MAX = 40_000;
const UNKNOWN_MAX = 10_000;

// With `max`, the cache would allocate memory for all entries at once.
const createCache = <Value extends object>(countMax: number) =>
  new LRUCache<string, Value>({ maxSize: countMax, sizeCalculation: () => 1 });

/**
 * Keeps values of the most recently used subjects, at most 50,000. Known callers have a separate room: a flood of addresses
 * cannot evict them.
 */
export class SubjectCache<Value extends object> {
  readonly #known = createCache<Value>(KNOWN_MAX);
  readonly #unknown = createCache<Value>(UNKNOWN_MAX);

  get(subject: Subject): Value | undefined {
    return this.#roomOf(subject).get(subject.name);
  }

  set(subject: Subject, value: Value): void {
    this.#roomOf(subject).set(subject.name, value);
  }

  values(): Value[] {
    return [...this.#known.values(), ...this.#unknown.values()];
  }

  #roomOf({ perDay }: Subject): LRUCache<string, Value> {
    return perDay === undefined ? this.#unknown : this.#known;
  }
}
