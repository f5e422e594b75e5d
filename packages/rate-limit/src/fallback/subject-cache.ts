import { LRUCache } from 'lru-cache';
import type { RateLimitSubject } from '../subject.ts';

/** Something about each of at most 50,000 subjects: the most recently used of each type. */
export type SubjectCache<Value extends object> = Readonly<Record<RateLimitSubject['type'], LRUCache<string, Value>>>;

/** Types have a cache each, so that a flood of addresses cannot evict keys. */
export const createSubjectCache = <Value extends object>(): SubjectCache<Value> => ({
  'api-key': createCache(40_000),
  'client-address': createCache(10_000),
});

/** Bounded by size, because `max` would allocate all entries at once. */
const createCache = <Value extends object>(entriesMax: number): LRUCache<string, Value> =>
  new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
