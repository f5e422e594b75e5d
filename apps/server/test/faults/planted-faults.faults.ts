import { describe, expect, test } from 'vitest';
import { checkOrders } from './support/check-orders.ts';
import type { OrderCall, OrderOperation, OrderOutcome, Sighting } from './support/order-history.ts';
import { PLANTED_FAULTS } from './support/planted-faults.ts';
import { SimulatedOrders, simulate } from './support/simulated-orders.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

test('what clients see of a service without a fault is explained', () => {
  for (const seed of SEEDS) {
    const history = simulate(SimulatedOrders, seed);
    expect(checkOrders(history).findings).toEqual([]);
    // There is something to explain: all kinds of outcomes, and lost ones.
    const kinds = new Set(history.operations.map(({ response }) => response?.outcome.type ?? 'lost'));
    expect([...kinds].sort()).toEqual(['done', 'listed', 'lost', 'refused']);
  }
});

describe('is found', () => {
  test.for(Object.entries(PLANTED_FAULTS))('%s', ([, Faulty]) => {
    const foundWith = SEEDS.filter((seed) => checkOrders(simulate(Faulty, seed)).findings.length > 0);
    // Not each history shows what went wrong in it.
    expect(foundWith.length).toBeGreaterThan(SEEDS.length / 2);
  });
});

test('a contradiction is drawn for people, without what has nothing to do with it', () => {
  const call = (
    caller: string,
    made: OrderCall,
    [calledAtMs, atMs, outcome]: readonly [number, number?, OrderOutcome?],
  ) => ({ caller, call: made, calledAtMs, response: atMs && outcome && { atMs, outcome } }) as OrderOperation; // as given
  const seen = (states: Sighting['states']): Sighting => ({ orderId: 7n, petId: 1n, quantity: 2, states });
  const done = (...states: Sighting['states']): OrderOutcome => ({ type: 'done', order: seen(states) });
  const operations = [
    call('client 1', { type: 'place', petId: 1n, quantity: 2 }, [0, 3, done('pending')]),
    call('client 2', { type: 'get', orderId: 7n }, [4, 5, done('pending')]),
    call('client 3', { type: 'ship', orderId: 7n }, [5]),
    call('client 1', { type: 'cancel', orderId: 7n }, [6, 8, { type: 'done', order: undefined }]),
    call('client 2', { type: 'list' }, [9, 12, { type: 'listed', orders: [seen(['cancelled'])], isWhole: true }]),
    call('client 3', { type: 'get', orderId: 7n }, [14, 15, done('shipped')]),
  ];
  expect(checkOrders({ originMs: 0, initial: [], operations }).findings).toEqual([
    `Order 7, absent at first, can only have been cancelled before the marked response:
  0.0..3.0  client 1 place   |-|              pending
     5.0..  client 3 ship        |---------?  response lost
  6.0..8.0  client 1 cancel        |-|        cancelled
14.0..15.0  client 3 get               |-|    shipped  <- cannot be explained`,
  ]);
});
