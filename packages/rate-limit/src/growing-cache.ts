import { LRUCache } from 'lru-cache';

/** A cache of the entries that were used last. It grows as it fills: given as `max`, its length is allocated at once. */
export const growingCache = <Value extends object>(entriesMax: number): LRUCache<string, Value> =>
  new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
