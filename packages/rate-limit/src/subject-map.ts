import type { LRUCache } from 'lru-cache';
import { growingCache } from './growing-cache.ts';
import type { RateLimitSubject } from './subject.ts';

/** How many subjects of each type are remembered. Apart, so that a flood of addresses cannot push out keys. */
const KEYS_MAX = 40_000;
const ADDRESSES_MAX = 10_000;

/** Something about each of at most 50,000 subjects: those that were used last. */
export class SubjectMap<Value extends object> {
  readonly #keys = growingCache<Value>(KEYS_MAX);
  readonly #addresses = growingCache<Value>(ADDRESSES_MAX);

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }

  get(subject: RateLimitSubject): Value | undefined {
    return this.#partOf(subject).get(subject.storageKey);
  }

  set(subject: RateLimitSubject, value: Value): void {
    this.#partOf(subject).set(subject.storageKey, value);
  }

  delete(subject: RateLimitSubject): void {
    this.#partOf(subject).delete(subject.storageKey);
  }

  clear(): void {
    this.#keys.clear();
    this.#addresses.clear();
  }

  *values(): Generator<Value> {
    yield* this.#keys.values();
    yield* this.#addresses.values();
  }

  #partOf({ type }: RateLimitSubject): LRUCache<string, Value> {
    return type === 'api-key' ? this.#keys : this.#addresses;
  }
}
