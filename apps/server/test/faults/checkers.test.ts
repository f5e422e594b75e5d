import { orderId, petId } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { type EventEvidence, findFalseEvents } from './support/check-events.ts';
import { checkOrders, type LastState } from './support/check-orders.ts';
import type { OrderCall, OrderOperation, OrderOutcome, OrderState, Sighting } from './support/order-history.ts';
import type { RecordedEvent, WholeOrder } from './support/stored-order.ts';

// Each checker finds nothing in a history that is sound, and the fault that is planted in another.

describe('what consumers received', () => {
  const AT = new Date('2026-11-20T12:00:00Z');

  const pending = (id: bigint, pet = id): WholeOrder => ({
    id: orderId(id),
    petId: petId(pet),
    quantity: 1,
    shipDate: undefined,
    status: 'pending',
    complete: false,
    placedAt: AT,
    shippedAt: undefined,
    completedAt: undefined,
    cancelledAt: undefined,
  });
  const shipped = (id: bigint): WholeOrder => ({ ...pending(id), status: 'shipped', shippedAt: AT });
  const cancelled = (id: bigint): WholeOrder => ({ ...pending(id), status: 'cancelled', cancelledAt: AT });

  /** Ids may be left out. */
  const LOG: readonly RecordedEvent[] = [
    { id: 1n, type: 'order.imported', order: shipped(1n) },
    { id: 2n, type: 'order.placed', order: pending(2n) },
    { id: 5n, type: 'order.placed', order: pending(3n) },
    { id: 6n, type: 'order.shipped', order: shipped(2n) },
    { id: 7n, type: 'order.cancelled', order: cancelled(3n) },
  ];
  const SOUND: EventEvidence = {
    received: new Map([['consumer', LOG]]),
    log: LOG,
    orders: [shipped(1n), shipped(2n), cancelled(3n)],
    isOnlyOnce: () => true,
  };

  const received = (...events: readonly RecordedEvent[]): Partial<EventEvidence> => ({
    received: new Map([['consumer', events]]),
  });
  const logged = (...log: readonly RecordedEvent[]): Partial<EventEvidence> => ({ log, ...received(...log) });
  const [first, second, third, fourth, fifth] = LOG as readonly [
    RecordedEvent,
    RecordedEvent,
    RecordedEvent,
    RecordedEvent,
    RecordedEvent,
  ]; // as above

  test('nothing is wrong with what is sound', () => {
    expect(findFalseEvents(SOUND)).toEqual([]);
  });

  test.each<[string, Partial<EventEvidence>, RegExp]>([
    [
      'an event that a consumer did not receive',
      received(first, second, fourth, fifth),
      /^consumer did not receive event 5 /,
    ],
    [
      'one that it received twice',
      received(first, second, second, third, fourth, fifth),
      /^consumer received event 2 twice$/,
    ],
    ['one that came late', received(first, third, second, fourth, fifth), /^consumer received event 2 behind event 5$/],
    ['one of a change that is lost', received(...LOG, { ...fifth, id: 8n }), /event 8 .* which is not in the log$/],
    [
      'another order than the log has',
      received(first, second, third, { ...fourth, order: pending(2n) }, fifth),
      /event 6 /,
    ],
    [
      'a change without an event',
      logged(first, second, third, fourth),
      /^order 3 is .*cancelled.* by its events .*pending/,
    ],
    ['an order without an event', logged(second, third, fourth, fifth), /^order 1 is in no event$/],
    ['an event without its order', { orders: SOUND.orders.slice(1) }, /^order 1 is in the log alone$/],
    [
      'an event of a change that was not made',
      logged(...LOG, { ...fourth, id: 8n }),
      /^event 8 .* an order that is shipped$/,
    ],
    [
      'an event before what it follows',
      logged(first, third, fourth, second, fifth),
      /^event 6 .* an order that is absent$/,
    ],
    [
      'two orders of one call',
      {
        ...logged(...LOG, { id: 8n, type: 'order.placed', order: pending(4n, 2n) }),
        orders: [...SOUND.orders, pending(4n, 2n)],
      },
      /^orders 2 and 4 are of one call of place$/,
    ],
  ])('%s is found', (_, planted, finding) => {
    expect(findFalseEvents({ ...SOUND, ...planted })).toContainEqual(expect.stringMatching(finding));
  });
});

describe('what callers saw', () => {
  const seen = (...states: readonly OrderState[]): Sighting => ({ orderId: 7n, petId: 1n, quantity: 2, states });
  const done = (state: OrderState): OrderOutcome => ({ type: 'done', order: seen(state) });
  const listed = (...states: readonly OrderState[]): OrderOutcome => ({
    type: 'listed',
    orders: states.length === 0 ? [] : [seen(...states)],
    isWhole: true,
  });
  const NOT_SHIPPED: OrderOutcome = { type: 'refused', reason: 'order_not_shipped' };
  const NOT_FOUND: OrderOutcome = { type: 'refused', reason: 'order_not_found' };

  /** A call, and its response unless it was lost. */
  const called = (
    type: OrderCall['type'],
    calledAtMs: number,
    ...responses: readonly [] | readonly [number, OrderOutcome]
  ): OrderOperation => ({
    caller: 'a client',
    call: type === 'place' ? { type, petId: 1n, quantity: 2 } : type === 'list' ? { type } : { type, orderId: 7n },
    calledAtMs,
    response: responses.length === 0 ? undefined : { atMs: responses[0], outcome: responses[1] },
  });

  const PLACED = called('place', 0, 10, done('pending'));
  const SHIPPED = called('ship', 20, 30, done('shipped'));
  const SHIP_LOST = called('ship', 20);

  const findingsOf = (lastState: OrderState, operations: readonly OrderOperation[]) => {
    const status = lastState === 'complete' ? 'shipped' : lastState;
    const complete = lastState === 'complete';
    const stored: readonly LastState[] = status === 'absent' ? [] : [{ id: 7n, petId: 1n, status, complete }];
    return checkOrders({ originMs: 0, initial: [], operations }, stored).findings;
  };

  test.each<[string, OrderState, OrderOperation[]]>([
    ['calls one after the other', 'complete', [PLACED, SHIPPED, called('complete', 40, 50, done('complete'))]],
    ['reads beside a step, either way', 'shipped', [PLACED, SHIPPED, called('get', 21, 29, done('pending'))]],
    ['a list that began before', 'pending', [PLACED, called('list', 5, 90, listed())]],
    ['v1, which does not say the status', 'shipped', [PLACED, SHIPPED, called('list', 40, 50, listed('pending', 'shipped'))]],
    ['a lost call that took effect late', 'shipped', [PLACED, SHIP_LOST, called('complete', 80, 90, NOT_SHIPPED)]],
    ['a lost call without effect', 'pending', [PLACED, SHIP_LOST]],
    ['an order that nobody got to see', 'absent', [called('place', 0)]],
  ])('%s: explained', (_, lastState, operations) => {
    expect(findingsOf(lastState, operations)).toEqual([]);
  }); // biome-ignore format: a table

  test.each<[string, OrderState, OrderOperation[], RegExp]>([
    ['a step that was said to be done is lost', 'pending', [PLACED, SHIPPED], /^Order 7 .* shipped, and this is lost$/],
    ['an order that was placed is lost', 'absent', [PLACED], /^Order 7 .* and this is lost$/],
    ['a step is done twice', 'shipped', [PLACED, SHIPPED, called('ship', 40, 50, done('shipped'))], /so was another call/],
    ['a step without a call', 'shipped', [PLACED], /no call can have made it shipped/],
    ['a state that the order never had', 'shipped', [PLACED, SHIPPED, called('get', 40, 50, done('cancelled'))], /it never was/],
    ['a refusal for a reason that never held', 'pending', [PLACED, called('ship', 11, 19, { type: 'refused', reason: 'order_already_shipped' })], /order_already_shipped, and it never was/],
    ['an old state is read', 'shipped', [PLACED, SHIPPED, called('get', 31, 40, done('pending'))], /became shipped not before .* get .* and not after .* ship/],
    ['an old state is decided on', 'shipped', [PLACED, SHIPPED, called('complete', 31, 40, NOT_SHIPPED)], /became shipped not before .* complete/],
    ['a state is read before its call', 'shipped', [PLACED, called('get', 11, 19, done('shipped')), SHIP_LOST], /not before .* ship .* response lost, and not after .* get/],
    ['two reads go back in time', 'shipped', [PLACED, SHIP_LOST, called('get', 31, 40, done('shipped')), called('get', 41, 50, done('pending'))], /not before .*41.* and not after .*31/],
    ['a placed order is not found', 'pending', [PLACED, called('get', 11, 20, NOT_FOUND)], /became pending not before .* get/],
    ['a list leaves an order out', 'pending', [PLACED, called('list', 11, 20, listed())], /became pending not before .* list/],
    ['a command shows another state', 'shipped', [PLACED, called('ship', 20, 30, done('pending'))], /in place of shipped/],
  ])('%s: found', (_, lastState, operations, finding) => {
    expect(findingsOf(lastState, operations)).toContainEqual(expect.stringMatching(finding));
  }); // biome-ignore format: a table
});
