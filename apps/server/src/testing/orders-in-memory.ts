import {
  DomainError,
  decideOrder,
  fingerprintOf,
  IDEMPOTENCY_KEY_TTL_MS,
  matchesFilter,
  ORDER_TRANSITIONS,
  type Order,
  type OrderBatch,
  type OrderId,
  type OrderRepository,
  orderId,
  orderTextOf,
  pageOf,
} from '@petstore/domain';
import type { EventsInMemory } from './events-in-memory.ts';

/** Orders in a batch of a list. A list of more is a long one, as it is of the server. */
const BATCH = 250;

/** Ids of new orders stay below this: every JSON parser reads them exactly. */
const NEW_ID_LIMIT = 2n ** 53n;

/** An order that was placed with an idempotency key. */
interface RememberedPlacement {
  readonly call: string;
  readonly order: Order;
}

/**
 * Orders in the memory of this process. Each change is decided by the domain, and recorded.
 *
 * @param initial orders with ids of their own, recorded as imported
 */
export function createOrdersInMemory(initial: readonly Order[], events: EventsInMemory): OrderRepository {
  const orders = new Map<OrderId, Order>();
  const remembered = new Map<string, RememberedPlacement>();
  let lastId = 0n;
  const store = (order: Order): void => {
    orders.set(order.id, order);
    if (order.id > lastId && order.id < NEW_ID_LIMIT) lastId = order.id;
  };
  for (const order of initial) {
    store(order);
    events.record('order.imported', order);
  }
  const listed = (): readonly Order[] => [...orders.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

  return {
    listOrders: () => ({ [Symbol.asyncIterator]: () => batchesOf(listed()) }),
    listOrderTexts: () => ({ [Symbol.asyncIterator]: () => batchesOf(listed().map(orderTextOf)) }),
    async findOrder(id) {
      return orders.get(id);
    },
    async findOrders({ filter, order = 'asc', afterId, limit }) {
      const sorted = order === 'asc' ? listed() : listed().toReversed();
      const begin = sorted.findIndex(
        ({ id }) => afterId === undefined || (order === 'asc' ? id > afterId : id < afterId),
      );
      const found = (begin === -1 ? [] : sorted.slice(begin)).filter((each) => matchesFilter(each, filter));
      return pageOf(found, limit);
    },
    async applyCommand(id, command, now) {
      const order = orders.get(id);
      const decision = decideOrder(order, command, now);
      if (!decision.ok) return { applied: false, order };
      store(decision.value);
      events.record(ORDER_TRANSITIONS[command].event, decision.value);
      return { applied: true, order: decision.value };
    },
    async insertOrder(order, { actor }, idempotencyKey) {
      const call = fingerprintOf(order);
      const name = `${actor} ${idempotencyKey}`;
      const before = idempotencyKey === undefined ? undefined : remembered.get(name);
      if (before !== undefined && order.placedAt.getTime() < before.order.placedAt.getTime() + IDEMPOTENCY_KEY_TTL_MS) {
        if (before.call !== call)
          throw new DomainError('idempotency_key_reused', 'the idempotency key was used for another call');
        return { placed: false, order: before.order };
      }
      const placed: Order = { ...order, id: orderId(lastId + 1n) };
      store(placed);
      if (idempotencyKey !== undefined) remembered.set(name, { call, order: placed });
      events.record('order.placed', placed);
      return { placed: true, order: placed };
    },
  };
}

async function* batchesOf<Item>(items: readonly Item[]): AsyncGenerator<OrderBatch<readonly Item[]>, void, void> {
  let start = 0;
  do {
    const end = start + BATCH;
    yield { orders: items.slice(start, end), isLast: end >= items.length };
    start = end;
  } while (start < items.length);
}
