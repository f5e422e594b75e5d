import { readInput } from './read-input.ts';
import { toSuperjson } from './to-superjson.ts';

/**
 * superjson's notation in both directions, so that `bigint` and `Date` arrive as what they are. Clients take superjson as
 * it is. What callers send is never given to superjson itself.
 */
export const transformer = {
  serialize: toSuperjson,
  deserialize: readInput,
};
