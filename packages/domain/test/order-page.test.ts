import { describe, expect, test } from 'vitest';
import {
  decideOrder,
  matchesFilter,
  type Order,
  type OrderFilter,
  orderId,
  type PendingOrder,
  petId,
} from '../src/index.ts';

const NOW = new Date('2026-03-04T05:06:07.089Z');

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
    [{ petId: petId(7n) }, ['pending', 'shipped', 'completed', 'cancelled']],
    [{ petId: petId(8n) }, []],
    [{ petId: petId(7n), statuses: ['cancelled'] }, ['cancelled']],
  ])('%o wants orders that meet every part of it', (filter, names) => {
    expect(namesOf(filter)).toEqual(names);
  });
});
