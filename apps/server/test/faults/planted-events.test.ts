import { expect, test } from 'vitest';
import { type EventEvidence, findFalseEvents } from './support/check-events.ts';
import type { RecordedEvent, StoredOrder } from './support/stored-order.ts';

const AT = new Date('2026-11-20T12:00:00Z');

const pending = (id: bigint, petId = id): StoredOrder => ({
  id,
  petId,
  quantity: 1,
  shipDate: undefined,
  status: 'pending',
  complete: false,
  placedAt: AT,
  shippedAt: undefined,
  completedAt: undefined,
  cancelledAt: undefined,
});
const shipped = (id: bigint): StoredOrder => ({ ...pending(id), status: 'shipped', shippedAt: AT });
const cancelled = (id: bigint): StoredOrder => ({ ...pending(id), status: 'cancelled', cancelledAt: AT });

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
