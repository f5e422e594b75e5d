import type { OrderEventType } from '@petstore/domain';
import { type OrderState, stateOf } from './order-history.ts';
import type { RecordedEvent, WholeOrder } from './stored-order.ts';

/** What consumers received, and the log and the orders at the end. */
export interface EventEvidence {
  /** What each consumer was given, over all its connections. */
  readonly received: ReadonlyMap<string, readonly RecordedEvent[]>;
  /** The whole log, by ids. */
  readonly log: readonly RecordedEvent[];
  /** The table of orders. */
  readonly orders: readonly WholeOrder[];
  /** Pets of which each has one call of `place` at most. */
  readonly isOnlyOnce: (petId: bigint) => boolean;
}

/** @returns what is missing, received twice, out of order or with other content, each for people to read */
export const findFalseEvents = ({ received, log, orders, isOnlyOnce }: EventEvidence): readonly string[] => [
  ...[...received].flatMap(([consumer, events]) => differencesFrom(log, consumer, events)),
  ...differencesFromReplay(log, orders),
  ...placedTwice(orders, isOnlyOnce),
];

function differencesFrom(
  log: readonly RecordedEvent[],
  consumer: string,
  events: readonly RecordedEvent[],
): readonly string[] {
  const findings: string[] = [];
  const seen = new Map<bigint, RecordedEvent>();
  let last = 0n;
  for (const event of events) {
    if (seen.has(event.id)) findings.push(`${consumer} received event ${event.id} twice`);
    else if (event.id < last) findings.push(`${consumer} received event ${event.id} behind event ${last}`);
    seen.set(event.id, event);
    last = event.id;
  }
  for (const event of log) {
    const received = seen.get(event.id);
    seen.delete(event.id);
    if (received === undefined) findings.push(`${consumer} did not receive ${describe(event)}`);
    else if (describe(received) !== describe(event)) {
      findings.push(`${consumer} received ${describe(received)}, and the log holds ${describe(event)}`);
    }
  }
  for (const event of seen.values()) findings.push(`${consumer} received ${describe(event)}, which is not in the log`);
  return findings;
}

const STATE_AFTER = {
  'order.placed': 'pending',
  'order.imported': undefined, // any
  'order.shipped': 'shipped',
  'order.completed': 'complete',
  'order.cancelled': 'cancelled',
} as const satisfies Record<OrderEventType, OrderState | undefined>;

const STATE_BEFORE = {
  'order.placed': 'absent',
  'order.imported': 'absent',
  'order.shipped': 'pending',
  'order.completed': 'shipped',
  'order.cancelled': 'pending',
} as const satisfies Record<OrderEventType, OrderState>;

/** Whether who follows the log has, in the end, what the table holds. */
function differencesFromReplay(log: readonly RecordedEvent[], orders: readonly WholeOrder[]): readonly string[] {
  const findings: string[] = [];
  const replayed = new Map<bigint, WholeOrder>();
  for (const event of log) {
    const { type, order } = event;
    const before = replayed.get(order.id);
    const stateBefore = before === undefined ? 'absent' : stateOf(before);
    const isAsTold = STATE_AFTER[type] === undefined || STATE_AFTER[type] === stateOf(order);
    if (stateBefore !== STATE_BEFORE[type] || !isAsTold) {
      findings.push(`${describe(event)} comes to an order that is ${stateBefore}`);
    }
    replayed.set(order.id, order);
  }
  for (const order of orders) {
    const copy = replayed.get(order.id);
    replayed.delete(order.id);
    if (copy === undefined) findings.push(`order ${order.id} is in no event`);
    else if (text(copy) !== text(order))
      findings.push(`order ${order.id} is ${text(order)}, by its events ${text(copy)}`);
  }
  for (const id of replayed.keys()) findings.push(`order ${id} is in the log alone`);
  return findings;
}

function placedTwice(orders: readonly WholeOrder[], isOnlyOnce: (petId: bigint) => boolean): readonly string[] {
  const findings: string[] = [];
  const idOfPet = new Map<bigint, bigint>();
  for (const { id, petId } of orders) {
    const first = idOfPet.get(petId);
    if (first !== undefined && isOnlyOnce(petId)) findings.push(`orders ${first} and ${id} are of one call of place`);
    idOfPet.set(petId, id);
  }
  return findings;
}

const describe = ({ id, type, order }: RecordedEvent): string => `event ${id} (${type}, ${text(order)})`;

const text = (order: WholeOrder): string =>
  Object.entries(order)
    .map(([name, value]) => `${name} ${value instanceof Date ? value.toISOString() : value}`)
    .join(', ');
