import { procedureContracts } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { traitsOf } from '../src/trpc/procedures.ts';

describe('what the client knows of a procedure', () => {
  test('is known of procedures that exist', () => {
    expect([...procedureContracts.keys()]).toEqual(
      expect.arrayContaining(['orders.list', 'orders.cancel', 'limits.current']),
    );
  });

  test.each([...procedureContracts])('is what the service says: %s', (name, { type, cost, streams }) => {
    const { isFree, takesKey, transition, ...traits } = traitsOf(name);
    expect(isFree).toBe(cost === 'free' ? true : undefined);
    expect(traits.streams).toBe(streams);
    const waysToRepeat = [takesKey, transition].filter((way) => way !== undefined);
    expect(waysToRepeat).toHaveLength(type === 'mutation' ? 1 : 0);
  });
});
