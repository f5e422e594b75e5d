import { setImmediate, setTimeout } from 'node:timers/promises';
import {
  BEGINNING_OF_EVENTS,
  changedAt,
  decideOrder,
  INT64_MAX,
  INT64_MIN,
  ORDER_COMMANDS,
  ORDER_TRANSITIONS,
  type Order,
  type OrderCommand,
  type OrderId,
  orderId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { ordersInEveryState } from '@petstore/testing/any-order';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { applyCommandsText } from '../src/orders/apply-commands.ts';
import { importOrders, pendingOrder, shippedOrder, useTestStore } from './support.ts';

const store = useTestStore();
let nextId = 1n;

const AT = new Date('2026-07-08T09:10:11.120Z');

/** One in each state, and one that was imported with times that go back. */
const ORDERS: readonly Order[] = [
  ...ordersInEveryState(pendingOrder(0n), new Date('2026-03-05T00:00:00.120Z')),
  { ...shippedOrder(0n), placedAt: new Date('2026-03-06T00:00:00Z') },
];

async function stored(make: (id: bigint) => Order): Promise<Order> {
  const order = make(nextId++);
  await importOrders(store, [order]);
  return order;
}

test.each(ORDER_COMMANDS)(
  '%s is applied to the orders that the domain says, and to no other, by any clock, and recorded so',
  async (command) => {
    for (const given of ORDERS) {
      for (const at of [AT, new Date(0)]) {
        const order = await stored((id) => ({ ...given, id: orderId(id) }));
        const decision = decideOrder(order, command, at);
        const transition = await store.persistence.orders.applyCommand(order.id, command, at, SERVICE_ORIGIN);
        expect(transition).toEqual(decision.ok ? { applied: true, order: decision.value } : { applied: false, order });
        expect(await store.persistence.orders.findOrder(order.id)).toEqual(transition.order);
        const { events } = await store.persistence.events.readEvents(BEGINNING_OF_EVENTS, 1_000);
        const [, ...own] = events.filter((event) => event.order.id === order.id); // the first is of its import
        const expected = decision.ok && {
          type: ORDER_TRANSITIONS[command].event,
          at: changedAt(decision.value),
          order: decision.value,
        };
        expect(own).toMatchObject(expected ? [expected] : []);
      }
    }
    const missing = await store.persistence.orders.applyCommand(orderId(-404n), command, AT, SERVICE_ORIGIN);
    expect(missing).toEqual({ applied: false, order: undefined });
  },
);

test('two commands may set the same time', async () => {
  const withdraw = { ...ORDER_TRANSITIONS.cancel, event: 'order.withdrawn' };
  const text = applyCommandsText({ ...ORDER_TRANSITIONS, withdraw });
  const orders = [await stored(pendingOrder), await stored(pendingOrder), await stored(pendingOrder)];
  const values = [orders.map(({ id }) => id.toString()), ['cancel', 'withdraw', 'ship']];
  const origin = [orders.map(() => AT.toISOString()), orders.map(() => 'service'), orders.map(() => null)];
  const { rowCount } = await store.query(text, [...values, ...origin]);
  expect(rowCount).toBe(orders.length);
  const found = await Promise.all(orders.map(({ id }) => store.persistence.orders.findOrder(id)));
  expect(found).toMatchObject([
    { status: 'cancelled', cancelledAt: AT },
    { status: 'cancelled', cancelledAt: AT },
    { status: 'shipped', shippedAt: AT },
  ]);
});

describe('of any number at once exactly one is applied', () => {
  // From several processes, as it were: commands for one order that one process is given go one after the other.
  const COUNT = 20;
  const doors: Persistence[] = [];
  beforeAll(() => {
    for (let i = 0; i < 4; i++) doors.push(openPersistence({ databaseUrl: store.url }));
  });
  afterAll(() => Promise.all(doors.map((door) => door.close())));

  async function race(commands: (i: number) => OrderCommand, make: (id: bigint) => Order = pendingOrder) {
    const order = await stored(make);
    const outcomes = await Promise.all(
      Array.from({ length: COUNT }, async (_, i) => {
        const command = commands(i);
        const { orders } = doors[i % doors.length] as Persistence; // the index is within the array
        return { command, ...(await orders.applyCommand(order.id, command, AT, SERVICE_ORIGIN)) };
      }),
    );
    return { order, outcomes, winners: outcomes.filter(({ applied }) => applied) };
  }

  test.each<[string, (id: bigint) => Order, (i: number) => OrderCommand]>([
    ['cancels', pendingOrder, () => 'cancel'],
    ['ships', pendingOrder, () => 'ship'],
    ['completes', shippedOrder, () => 'complete'],
    ['cancels and ships', pendingOrder, (i) => (i % 2 === 0 ? 'cancel' : 'ship')],
  ])('%s', async (_name, make, commands) => {
    for (let round = 0; round < 5; round++) {
      const { order, outcomes, winners } = await race(commands, make);
      expect(winners).toHaveLength(1);
      // The loser is shown the order as the winner left it, never as both found it.
      for (const { order: seen } of outcomes) expect(seen).toEqual(winners[0]?.order);
      expect(await store.persistence.orders.findOrder(order.id)).toEqual(winners[0]?.order);
    }
  });

  test.each([
    ['commit', { applied: false, order: { status: 'shipped' } }],
    ['rollback', { applied: true, order: { status: 'cancelled' } }],
  ])('one that waited for the %s of another sees what became of it', async (end, transition) => {
    const order = await stored(pendingOrder);
    await store.query('begin');
    await store.query(`update orders set status = 'shipped', shipped_at = now() where id = $1`, [order.id.toString()]);
    const cancelling = store.persistence.orders.applyCommand(order.id, 'cancel', AT, SERVICE_ORIGIN);
    expect(await Promise.race([cancelling, setTimeout(200, 'waits')])).toBe('waits');
    await store.query(end);
    expect(await cancelling).toMatchObject(transition);
  });
});

test('ids at both ends of the 64-bit range are met exactly', async () => {
  await importOrders(store, [pendingOrder(INT64_MIN), pendingOrder(INT64_MAX), pendingOrder(-1n), pendingOrder(0n)]);
  for (const id of [INT64_MIN, INT64_MAX, -1n, 0n]) {
    const transition = await store.persistence.orders.applyCommand(orderId(id), 'cancel', AT, SERVICE_ORIGIN);
    expect(transition).toMatchObject({ applied: true, order: { id, status: 'cancelled' } });
  }
});

describe('commands given at once', () => {
  const applyAll = (ids: readonly OrderId[], command: OrderCommand = 'cancel') =>
    Promise.all(ids.map((id) => store.persistence.orders.applyCommand(id, command, AT, SERVICE_ORIGIN)));

  test('are kept apart by kind and time', async () => {
    const [first, second, third] = [await stored(pendingOrder), await stored(pendingOrder), await stored(pendingOrder)];
    const later = new Date(AT.getTime() + 1);
    const { orders } = store.persistence;
    const transitions = await Promise.all([
      orders.applyCommand(first.id, 'cancel', AT, SERVICE_ORIGIN),
      orders.applyCommand(second.id, 'cancel', later, SERVICE_ORIGIN),
      orders.applyCommand(third.id, 'ship', AT, SERVICE_ORIGIN),
    ]);
    expect(transitions).toMatchObject([
      { applied: true, order: { id: first.id, cancelledAt: AT } },
      { applied: true, order: { id: second.id, cancelledAt: later } },
      { applied: true, order: { id: third.id, shippedAt: AT } },
    ]);
  });

  test('for one order, and of two kinds, are applied once, and the others return its resulting state', async () => {
    const order = await stored(pendingOrder);
    const commands = ['ship', 'cancel', 'ship', 'cancel'] as const;
    const transitions = await Promise.all(
      commands.map((command) => store.persistence.orders.applyCommand(order.id, command, AT, SERVICE_ORIGIN)),
    );
    const winners = transitions.filter(({ applied }) => applied);
    expect(winners).toHaveLength(1);
    for (const { order: seen } of transitions) expect(seen).toEqual(winners[0]?.order);
  });

  test('for one order, of which the second applies after the first, are both applied', async () => {
    const order = await stored(pendingOrder);
    const [shipped, completed] = await Promise.all([applyAll([order.id], 'ship'), applyAll([order.id], 'complete')]);
    expect(shipped).toMatchObject([{ applied: true, order: { status: 'shipped', complete: false } }]);
    expect(completed).toMatchObject([{ applied: true, order: { status: 'shipped', complete: true } }]);
  });

  test('for an order that is placed while others ask for it in vain find it', async () => {
    for (let round = 0; round < 20; round++) {
      const id = orderId(nextId++);
      const inVain = applyAll([id, id]);
      await importOrders(store, [pendingOrder(id)]);
      const [transition] = await applyAll([id]);
      expect(transition?.order).toBeDefined();
      await inVain;
    }
  });

  test('with orders in common, from several processes and in any order, all end, and each order is cancelled once', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const doors = [store.persistence.orders, other.orders];
    const orders = Array.from({ length: 40 }, () => pendingOrder(nextId++));
    await importOrders(store, orders);
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const shift = i * 7;
        const shuffled = orders.map((_order, j) => orders[(shift + j * (i % 2 === 0 ? 1 : 39)) % 40] ?? orders[0]);
        await setImmediate();
        return Promise.all(
          shuffled.map((order) =>
            doors[i % 2]?.applyCommand(order?.id ?? orderId(0n), 'cancel', new Date(+AT + i), SERVICE_ORIGIN),
          ),
        );
      }),
    );
    expect(outcomes.flat().filter((outcome) => outcome?.applied)).toHaveLength(orders.length);
  });
});
