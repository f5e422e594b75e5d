import { decideOrder, INT64_MAX, INT64_MIN, type Order, type OrderCommand, orderId } from '@petstore/domain';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  cancelledOrder,
  completedOrder,
  importOrders,
  listedOrders,
  newOrder,
  openTestStore,
  pendingOrder,
  shippedOrder,
  type TestStore,
} from './support.ts';

let store: TestStore;
let nextId = 1n;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store[Symbol.asyncDispose]());

const AT = new Date('2026-07-08T09:10:11.120Z');

const ORDERS = {
  pending: pendingOrder,
  shipped: shippedOrder,
  complete: completedOrder,
  cancelled: cancelledOrder,
} satisfies Record<string, (id: bigint) => Order>;

const COMMANDS = ['cancel', 'ship', 'complete'] as const satisfies readonly OrderCommand[];

async function stored(make: (id: bigint) => Order): Promise<Order> {
  const order = make(nextId++);
  await importOrders(store, [order]);
  return order;
}

describe('the condition in SQL and the decision of the domain are one', () => {
  const cases = Object.entries(ORDERS).flatMap(([state, make]) =>
    COMMANDS.map((command) => ({ state, command, make })),
  );
  test.each(cases)('$command on an order that is $state', async ({ make, command }) => {
    const order = await stored(make);
    const decision = decideOrder(order, command, AT);
    const transition = await store.persistence.orders.applyCommand(order.id, command, AT);
    expect(transition).toEqual(decision.ok ? { applied: true, order: decision.value } : { applied: false, order });
    const kept = (await listedOrders(store)).find(({ id }) => id === order.id);
    expect(kept).toEqual(decision.ok ? decision.value : order);
  });

  test.each(COMMANDS)('%s on an order that does not exist', async (command) => {
    const transition = await store.persistence.orders.applyCommand(orderId(-404n), command, AT);
    expect(transition).toEqual({ applied: false, order: undefined });
  });
});

describe('of any number at once exactly one is applied', () => {
  // More instances than connections of one, so that statements really meet in the database.
  const COUNT = 50;

  async function race(commands: (i: number) => OrderCommand, make: (id: bigint) => Order = pendingOrder) {
    const order = await stored(make);
    const outcomes = await Promise.all(
      Array.from({ length: COUNT }, async (_, i) => {
        const command = commands(i);
        return { command, ...(await store.persistence.orders.applyCommand(order.id, command, AT)) };
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
    for (let round = 0; round < 10; round++) {
      const { order, outcomes, winners } = await race(commands, make);
      expect(winners).toHaveLength(1);
      // Whoever lost is shown the order that won, never the one that both found.
      for (const { order: seen } of outcomes) expect(seen).toEqual(winners[0]?.order);
      expect((await listedOrders(store)).find(({ id }) => id === order.id)).toEqual(winners[0]?.order);
    }
  });

  test('one that waited for another to commit is told what the other did', async () => {
    const order = await stored(pendingOrder);
    await store.query('begin');
    await store.query(`update orders set status = 'shipped', shipped_at = now() where id = $1`, [order.id.toString()]);
    const cancelling = store.persistence.orders.applyCommand(order.id, 'cancel', AT);
    await expect
      .poll(() => store.query(`select count(*) from pg_locks where not granted`).then(({ rows }) => rows[0]?.[0]))
      .toBe('1');
    await store.query('commit');
    expect(await cancelling).toMatchObject({ applied: false, order: { status: 'shipped' } });
  });

  test('one that waited for another to roll back is applied', async () => {
    const order = await stored(pendingOrder);
    await store.query('begin');
    await store.query(`update orders set status = 'shipped', shipped_at = now() where id = $1`, [order.id.toString()]);
    const cancelling = store.persistence.orders.applyCommand(order.id, 'cancel', AT);
    await store.query('rollback');
    expect(await cancelling).toMatchObject({ applied: true, order: { status: 'cancelled' } });
  });
});

test('ids at both ends of the 64-bit range are met exactly', async () => {
  await importOrders(store, [pendingOrder(INT64_MIN), pendingOrder(INT64_MAX), pendingOrder(-1n), pendingOrder(0n)]);
  for (const id of [INT64_MIN, INT64_MAX, -1n, 0n]) {
    const transition = await store.persistence.orders.applyCommand(orderId(id), 'cancel', AT);
    expect(transition).toMatchObject({ applied: true, order: { id, status: 'cancelled' } });
  }
});

test('success, refusal and a missing order alike take one statement', async () => {
  const { orders } = store.persistence;
  const { id } = await orders.insertOrder(newOrder());
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  await orders.applyCommand(id, 'cancel', AT);
  await orders.applyCommand(id, 'cancel', AT);
  await orders.applyCommand(orderId(-404n), 'cancel', AT);
  expect(sent).toHaveBeenCalledTimes(3);
  sent.mockRestore();
});
