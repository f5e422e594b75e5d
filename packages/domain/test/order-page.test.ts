import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canMatch,
  decideOrder,
  matchesFilter,
  ORDER_STATUSES,
  type Order,
  type OrderFilter,
  orderId,
  type PendingOrder,
  petId,
} from '../src/index.ts';

const NOW = new Date('2026-03-04T05:06:07.089Z');
const EARLY = new Date('2026-05-01T00:00:00.000Z');
const LATE = new Date('2026-05-01T00:00:00.001Z');

const pending: PendingOrder = {
  id: orderId(1n),
  petId: petId(7n),
  quantity: 1,
  placedAt: NOW,
  status: 'pending',
  complete: false,
};
const after = (order: Order, command: 'cancel' | 'ship' | 'complete'): Order => {
  const decision = decideOrder(order, command, NOW);
  if (!decision.ok) throw new Error(decision.reason);
  return decision.value;
};
const shipped = after(pending, 'ship');
const completed = after(shipped, 'complete');
const cancelled = after(pending, 'cancel');
const EVERY_STATE = [pending, shipped, completed, cancelled];
const namesOf = (filter: OrderFilter) =>
  Object.entries({ pending, shipped, completed, cancelled }).flatMap(([name, order]) =>
    matchesFilter(order, filter) ? [name] : [],
  );

describe('a filter', () => {
  test.each<[OrderFilter, string[]]>([
    [{}, ['pending', 'shipped', 'completed', 'cancelled']],
    [{ statuses: ['pending'] }, ['pending']],
    [{ statuses: ['shipped'] }, ['shipped', 'completed']],
    [{ statuses: ['cancelled', 'pending'] }, ['pending', 'cancelled']],
    [{ complete: true }, ['completed']],
    [{ complete: false }, ['pending', 'shipped', 'cancelled']],
    [{ complete: false, statuses: ['shipped'] }, ['shipped']],
    [{ petId: petId(7n) }, ['pending', 'shipped', 'completed', 'cancelled']],
    [{ petId: petId(8n) }, []],
    [{ petId: petId(7n), statuses: ['cancelled'] }, ['cancelled']],
  ])('%o wants orders that meet every part of it', (filter, names) => {
    expect(namesOf(filter)).toEqual(names);
  });

  test('has a range of ship dates that begins with its first moment and ends before its last', () => {
    const order = { ...pending, shipDate: EARLY };
    expect(matchesFilter(order, { shipDateFrom: EARLY })).toBe(true);
    expect(matchesFilter(order, { shipDateFrom: LATE })).toBe(false);
    expect(matchesFilter(order, { shipDateTo: LATE })).toBe(true);
    expect(matchesFilter(order, { shipDateTo: EARLY })).toBe(false);
    expect(matchesFilter(order, { shipDateFrom: EARLY, shipDateTo: LATE })).toBe(true);
  });

  test('with a bound of ship dates wants no order that has none', () => {
    expect(matchesFilter(pending, { shipDateFrom: new Date(0) })).toBe(false);
    expect(matchesFilter(pending, { shipDateTo: LATE })).toBe(false);
  });

  test('that no order can meet is known beforehand, and no other is taken for one', () => {
    const date = fc.option(fc.constantFrom(EARLY, LATE), { nil: undefined });
    const filters = fc.record({
      statuses: fc.option(fc.subarray([...ORDER_STATUSES], { minLength: 1 }), { nil: undefined }),
      complete: fc.option(fc.boolean(), { nil: undefined }),
      shipDateFrom: date,
      shipDateTo: date,
    }) as fc.Arbitrary<OrderFilter>; // undefined stands for what is left out
    fc.assert(
      fc.property(filters, (filter) => {
        const dates = [undefined, new Date(EARLY.getTime() - 1), EARLY, LATE];
        const orders = EVERY_STATE.flatMap((order) =>
          dates.map((shipDate) => (shipDate === undefined ? order : { ...order, shipDate })),
        );
        expect(canMatch(filter)).toBe(orders.some((order) => matchesFilter(order, filter)));
      }),
      { numRuns: 500 },
    );
  });
});
