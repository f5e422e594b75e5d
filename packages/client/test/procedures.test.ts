import { appRouter } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { traitsOf } from '../src/trpc/procedures.ts';

interface Procedure {
  readonly _def: { readonly type: 'query' | 'mutation'; readonly meta?: { readonly cost?: string } };
}

/** Every procedure of the service by its full name, such as `orders.list`. */
const PROCEDURES = Object.entries(appRouter._def.procedures).map(
  ([name, procedure]) => [name, procedure as unknown as Procedure] as const, // tRPC's type nests what is flat when it runs
);

describe('what the client knows of a procedure', () => {
  test('is known of procedures that exist', () => {
    const names = PROCEDURES.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['orders.list', 'orders.cancel', 'limits.current']));
  });

  test.each(PROCEDURES)('is what the service says: %s', (name, { _def: { type, meta } }) => {
    const { isFree = false, takesKey, transition } = traitsOf(name);
    expect(isFree).toBe(meta?.cost === 'free');
    const waysToRepeat = [takesKey, transition].filter((way) => way !== undefined);
    expect(waysToRepeat).toHaveLength(type === 'mutation' ? 1 : 0);
  });
});
