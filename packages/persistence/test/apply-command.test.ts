import { setImmediate, setTimeout } from 'node:timers/promises';
import {
  decideOrder,
  INT64_MAX,
  INT64_MIN,
  type Order,
  type OrderCommand,
  type OrderId,
  orderId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import {
  cancelledOrder,
  completedOrder,
  importOrders,
  listedOrders,
  newOrder,
  pendingOrder,
  shippedOrder,
  statementsIn,
  useTestStore,
} from './support.ts';

const store = useTestStore();
let nextId = 1n;

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
    COMMANDS.flatMap((command) => [
      { state, command, make, clock: 'right', at: AT },
      { state, command, make, clock: 'behind that of the server before', at: new Date(0) },
    ]),
  );
  test.each(cases)('$command on an order that is $state, by a clock that is $clock', async ({ make, command, at }) => {
    const order = await stored(make);
    const decision = decideOrder(order, command, at);
    const transition = await store.persistence.orders.applyCommand(order.id, command, at, SERVICE_ORIGIN);
    expect(transition).toEqual(decision.ok ? { applied: true, order: decision.value } : { applied: false, order });
    const kept = (await listedOrders(store)).find(({ id }) => id === order.id);
    expect(kept).toEqual(decision.ok ? decision.value : order);
  });

  test.each(COMMANDS)('%s on an order that does not exist', async (command) => {
    const transition = await store.persistence.orders.applyCommand(orderId(-404n), command, AT, SERVICE_ORIGIN);
    expect(transition).toEqual({ applied: false, order: undefined });
  });
});

describe('of any number at once exactly one is applied', () => {
  // From several processes, as it were: commands for one order that one process is given go one after the other.
  const COUNT = 50;
  const doors: Persistence[] = [];
  beforeAll(() => {
    for (let i = 0; i < 10; i++) doors.push(openPersistence({ databaseUrl: store.url }));
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
    for (let round = 0; round < 10; round++) {
      const { order, outcomes, winners } = await race(commands, make);
      expect(winners).toHaveLength(1);
      // The loser is shown the order as the winner left it, never as both found it.
      for (const { order: seen } of outcomes) expect(seen).toEqual(winners[0]?.order);
      expect((await listedOrders(store)).find(({ id }) => id === order.id)).toEqual(winners[0]?.order);
    }
  });

  test('one that waited for another to commit sees what the other did', async () => {
    const order = await stored(pendingOrder);
    await store.query('begin');
    await store.query(`update orders set status = 'shipped', shipped_at = now() where id = $1`, [order.id.toString()]);
    const cancelling = store.persistence.orders.applyCommand(order.id, 'cancel', AT, SERVICE_ORIGIN);
    expect(await Promise.race([cancelling, setTimeout(200, 'waits')])).toBe('waits');
    await store.query('commit');
    expect(await cancelling).toMatchObject({ applied: false, order: { status: 'shipped' } });
  });

  test('one that waited for another to roll back is applied', async () => {
    const order = await stored(pendingOrder);
    await store.query('begin');
    await store.query(`update orders set status = 'shipped', shipped_at = now() where id = $1`, [order.id.toString()]);
    const cancelling = store.persistence.orders.applyCommand(order.id, 'cancel', AT, SERVICE_ORIGIN);
    expect(await Promise.race([cancelling, setTimeout(200, 'waits')])).toBe('waits');
    await store.query('rollback');
    expect(await cancelling).toMatchObject({ applied: true, order: { status: 'cancelled' } });
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

  test('go as one statement, and each order has an outcome of its own', async () => {
    const orders = Object.values(ORDERS).flatMap((make) => [make(nextId++), make(nextId++)]);
    await importOrders(store, orders);
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    const transitions = await applyAll([...orders.map(({ id }) => id), orderId(-404n), orderId(-405n)]);
    expect(statementsIn(sent)).toHaveLength(1);
    sent.mockRestore();
    const expected = [...orders, undefined, undefined].map((order) => {
      const decision = decideOrder(order, 'cancel', AT);
      return decision.ok ? { applied: true, order: decision.value } : { applied: false, order };
    });
    expect(transitions).toEqual(expected);
  });

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

  test('do not fail with one whose order is locked', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, () => stored(pendingOrder)));
    await store.query('begin');
    await store.query('select from orders where id = $1 for update', [String(orders[2]?.id)]);
    try {
      const transitions = orders.map(({ id }) =>
        store.persistence.orders.applyCommand(id, 'cancel', AT, SERVICE_ORIGIN),
      );
      await expect(transitions[2]).rejects.toThrow(StorageUnavailableError);
      transitions.splice(2, 1);
      for (const transition of transitions) expect(await transition).toMatchObject({ applied: true });
    } finally {
      await store.query('rollback');
    }
  });

  test('for one order cost two statements at most, and one caller gets what all want', async () => {
    const order = await stored(pendingOrder);
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    const transitions = await applyAll(Array.from({ length: 50 }, () => order.id));
    expect(statementsIn(sent).length).toBeLessThanOrEqual(2);
    sent.mockRestore();
    expect(transitions.filter(({ applied }) => applied)).toHaveLength(1);
    for (const { order: seen } of transitions) expect(seen).toMatchObject({ id: order.id, status: 'cancelled' });
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

  test('for an order that is placed while others ask for it in vain find it', async () => {
    for (let round = 0; round < 50; round++) {
      const id = orderId(nextId++);
      const inVain = applyAll([id, id]);
      await importOrders(store, [pendingOrder(id)]);
      const [transition] = await applyAll([id]);
      expect(transition?.order).toBeDefined();
      await inVain;
    }
  });

  test('for an order that is held locked fail together, and let others pass', async () => {
    const [locked, ...others] = await Promise.all(Array.from({ length: 41 }, () => stored(pendingOrder)));
    await using door = openPersistence({ databaseUrl: store.url });
    await door.ping();
    const cancel = (id: OrderId) => door.orders.applyCommand(id, 'cancel', AT, SERVICE_ORIGIN);
    await store.query('begin');
    await store.query('select from orders where id = $1 for update', [String(locked?.id)]);
    try {
      const begin = performance.now();
      let haveFailed = false;
      const inVain = Array.from({ length: 20 }, () => cancel(locked?.id ?? orderId(0n)));
      const failures = Promise.all(
        inVain.map(async (call) => {
          await expect(call).rejects.toThrow(
            new StorageUnavailableError('The order is held locked by another transaction.'),
          );
          haveFailed = true;
        }),
      );
      let passed = 0;
      const passing: Promise<void>[] = [];
      for (const { id } of others) {
        // Neither in a group with the locked one nor with each other, and not behind it: no connection waits.
        await setImmediate();
        passing.push(
          cancel(id).then(() => {
            if (!haveFailed) passed++;
          }),
        );
      }
      await Promise.all([...passing, failures]);
      expect(passed).toBe(others.length);
      expect(performance.now() - begin).toBeLessThan(10_000); // and not two seconds for each
    } finally {
      await store.query('rollback');
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

test('success, refusal and a missing order alike take one statement', async () => {
  const { orders } = store.persistence;
  const { id } = (await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order;
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  await orders.applyCommand(id, 'cancel', AT, SERVICE_ORIGIN);
  await orders.applyCommand(id, 'cancel', AT, SERVICE_ORIGIN);
  await orders.applyCommand(orderId(-404n), 'cancel', AT, SERVICE_ORIGIN);
  expect(statementsIn(sent)).toHaveLength(3);
  sent.mockRestore();
});
