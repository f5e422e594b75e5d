import type { RateLimitSubject } from './subject.ts';

/** How many subjects of each type are remembered. Apart, so that a flood of addresses cannot push out keys. */
const KEYS_MAX = 40_000;
const ADDRESSES_MAX = 10_000;

/** A map that forgets what was put in first when it is full. */
export class BoundedMap<Key, Value> {
  readonly #map = new Map<Key, Value>();
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value);
    if (this.#map.size > this.#sizeMax) {
      for (const oldest of this.#map.keys()) {
        this.#map.delete(oldest);
        break;
      }
    }
  }

  /** Sets, and is forgotten last. */
  setLatest(key: Key, value: Value): void {
    this.#map.delete(key);
    this.set(key, value);
  }

  delete(key: Key): void {
    this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
  }

  values(): IterableIterator<Value> {
    return this.#map.values();
  }
}

/** Something about each of at most 50,000 subjects. */
export class SubjectMap<Value> {
  readonly #keys = new BoundedMap<string, Value>(KEYS_MAX);
  readonly #addresses = new BoundedMap<string, Value>(ADDRESSES_MAX);

  get size(): number {
    return this.#keys.size + this.#addresses.size;
  }

  /** The part that a subject belongs to, by `storageKey`. */
  of(subject: RateLimitSubject): BoundedMap<string, Value> {
    return subject.type === 'api-key' ? this.#keys : this.#addresses;
  }

  clear(): void {
    this.#keys.clear();
    this.#addresses.clear();
  }

  *values(): Generator<Value> {
    yield* this.#keys.values();
    yield* this.#addresses.values();
  }
}
