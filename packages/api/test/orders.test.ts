import {
  type ApiKeyId,
  decideOrder,
  INT64_MAX,
  INT64_MIN,
  ORDER_COMMANDS,
  ORDER_FIELDS,
  orderId,
  type Principal,
  petId,
  requestedValuesOf,
  type StoredOrder,
} from '@petstore/domain';
import { anyOrder, ordersInEveryState } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appRouter, procedureContracts } from '../src/index.ts';
import {
  cancelledOrder,
  completedOrder,
  EXTERNAL,
  IN_PROCESS,
  INTERNAL,
  pendingOrder,
  READ_ONLY,
  READ_ONLY_INTERNAL,
  shippedOrder,
  startTestApi,
  type TestApi,
} from './test-api.ts';

let api: TestApi;
let nextId = 2n ** 53n; // no order that is placed gets such an id
const newId = () => nextId++;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

async function findOrder(id: bigint): Promise<StoredOrder | undefined> {
  for await (const batch of await api.callAs(INTERNAL).orders.list()) {
    const order = batch.find((candidate) => candidate.id === id);
    if (order !== undefined) return order;
  }
  return undefined;
}

describe('orders.list', () => {
  test('gives every order whatever its state, once, ascending by id, with status and times', async () => {
    await using fresh = await startTestApi();
    const orders = [
      pendingOrder(INT64_MIN),
      shippedOrder(-1n),
      completedOrder(0n),
      cancelledOrder(9007199254740993n),
      pendingOrder(INT64_MAX),
    ];
    await fresh.importOrders(...orders.toReversed());
    const listed = [];
    for await (const batch of await fresh.callAs(EXTERNAL).orders.list()) listed.push(...batch);
    expect(listed).toEqual(orders);
  });
});

describe('orders.get', () => {
  test.each([pendingOrder, shippedOrder, completedOrder, cancelledOrder])(
    'returns the order with its status and times: %o',
    async (make) => {
      const order = make(newId());
      await api.importOrders(order);
      expect(await api.callAs(EXTERNAL).orders.get({ orderId: order.id })).toEqual(order);
    },
  );
});

describe.each(['REST', 'tRPC'])('orders.cancel over %s', (side) => {
  const cancel = (id: bigint): Promise<unknown> =>
    side === 'REST'
      ? api.callRest('cancelOrder', { orderId: id.toString() })
      : api.callAs(EXTERNAL).orders.cancel({ orderId: id });
  const nothing = side === 'REST' ? { type: 'empty' } : undefined;

  test.each([newId(), INT64_MAX - newId(), INT64_MIN + newId()])(
    'cancels a pending order and gives nothing: %d',
    async (id) => {
      await api.importOrders(pendingOrder(id));
      expect(await cancel(id)).toEqual(nothing);
      expect(await findOrder(id)).toEqual({ ...pendingOrder(id), status: 'cancelled', cancelledAt: api.clock() });
    },
  );
});

describe('orders.place', () => {
  test('gives the order, pending, with the time it was placed', async () => {
    const shipDate = new Date('2026-12-01T00:00:00.001Z');
    const order = await api.callAs(INTERNAL).orders.place({ petId: INT64_MAX, quantity: 3, shipDate });
    expect(order).toEqual({
      id: orderId(order.id),
      petId: petId(INT64_MAX),
      quantity: 3,
      shipDate,
      status: 'pending',
      complete: false,
      placedAt: api.clock(),
    });
    expect(await findOrder(order.id)).toEqual(order);
  });

  test('takes any values, and gives them', async () => {
    const { place } = api.callAs(INTERNAL).orders;
    await fc.assert(
      fc.asyncProperty(anyOrder.map(requestedValuesOf), async (asked) => {
        const { id, placedAt, ...order } = await place(asked);
        expect(order).toEqual({ ...asked, status: 'pending', complete: false });
      }),
    );
  });

  test('leaves an unknown ship date out', async () => {
    const order = await api.callAs(IN_PROCESS).orders.place({ petId: 1n, quantity: 1, shipDate: undefined });
    expect(order).not.toHaveProperty('shipDate');
  });

  const QUANTITY = /^must be a whole number from 1 to 2147483647$/;
  const SHIP_DATE = /^must be a time from 0001-01-01T00:00:00\.000Z to 9999-12-31T23:59:59\.999Z$/;

  test.each([
    ['quantity 0', { petId: 1n, quantity: 0 }, QUANTITY],
    ['quantity 1.5', { petId: 1n, quantity: 1.5 }, QUANTITY],
    ['quantity above 2^31 - 1', { petId: 1n, quantity: ORDER_FIELDS.quantity.max + 1 }, QUANTITY],
    ['quantity NaN', { petId: 1n, quantity: Number.NaN }, QUANTITY],
    ['a pet id of 2^63', { petId: 2n ** 63n, quantity: 1 }, /^must be a 64-bit integer/],
    ['a ship date that is no date', { petId: 1n, quantity: 1, shipDate: new Date(Number.NaN) }, SHIP_DATE],
    ['a ship date before the year 1', { petId: 1n, quantity: 1, shipDate: new Date(-62_135_596_800_001) }, SHIP_DATE],
    ['a ship date after the year 9999', { petId: 1n, quantity: 1, shipDate: new Date(253_402_300_800_000) }, SHIP_DATE],
  ])('refuses %s, and says what would be right', async (_, input, message) => {
    await expect(api.callAs(INTERNAL).orders.place(input)).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      cause: { issues: [{ message: expect.stringMatching(message) }] },
    });
  });
});

describe('orders.ship and orders.complete', () => {
  test('give the order as it now is, with each time', async () => {
    const internal = api.callAs(INTERNAL).orders;
    const { id } = await internal.place({ petId: 1n, quantity: 1 });
    const placedAt = api.clock();
    api.clock.advance(1_000);
    const shippedAt = api.clock();
    expect(await internal.ship({ orderId: id })).toMatchObject({ status: 'shipped', complete: false, shippedAt });
    api.clock.advance(1_000);
    const completed = await internal.complete({ orderId: id });
    expect(completed).toMatchObject({
      status: 'shipped',
      complete: true,
      placedAt,
      shippedAt,
      completedAt: api.clock(),
    });
    expect(await findOrder(id)).toEqual(completed);
  });
});

/** Every command on an order in each of the states to which it does not apply, with the reason of the domain. */
const REFUSED = ORDER_COMMANDS.flatMap((command) =>
  ordersInEveryState(pendingOrder(0n), new Date('2026-11-02T08:00:00.000Z')).flatMap((order) => {
    const decision = decideOrder(order, command, new Date());
    return decision.ok ? [] : [[command, decision.reason, order] as const];
  }),
);

const DOCUMENTED = ORDER_COMMANDS.flatMap((command) => {
  const contract = procedureContracts.get(`orders.${command}`);
  return contract?.openapi === undefined ? [] : [[command, contract.rest.errors] as const];
});

test.each(DOCUMENTED)(
  'the document says of %s each reason for which it is refused, and no other',
  (command, errors) => {
    const reasons = REFUSED.flatMap(([refused, reason]) => (refused === command ? [reason] : []));
    expect(new Set(errors)).toEqual(new Set(['order_not_found', ...reasons]));
  },
);

test.each(REFUSED)('%s is refused as %s, and changes nothing: %o', async (command, errorCode, refused) => {
  const order = { ...refused, id: orderId(newId()) };
  await api.importOrders(order);
  await expect(api.callAs(INTERNAL).orders[command]({ orderId: order.id })).rejects.toMatchObject({ errorCode });
  expect(await findOrder(order.id)).toEqual(order);
});

const CHANGES = [...procedureContracts].flatMap(([name, { type }]) => (type === 'mutation' ? [name] : []));

/** A procedure, a key that may not call it, and what the refusal says of the key. */
const CLOSED = [
  ...CHANGES.map((name) => [name, 'read-only', READ_ONLY] as const),
  ...CHANGES.map((name) => [name, 'read-only', READ_ONLY_INTERNAL] as const),
  ...['orders.place', 'orders.ship', 'orders.complete'].map((name) => [name, '--internal', EXTERNAL] as const),
];

test.each(CLOSED)(
  '%s is refused to a key for being, or not being, %s, whatever the input is',
  async (name, reason, who) => {
    const call = appRouter.createCaller(api.contextOf(who));
    const [group, method] = name.split('.') as ['orders', 'cancel']; // each is called alike
    await expect(call[group][method]({ orderId: 'no id' } as never)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      errorCode: 'insufficient_scope',
      message: expect.stringContaining(reason),
    });
  },
);

test('read-only keys read as others do', async () => {
  const order = pendingOrder(newId());
  await api.importOrders(order);
  expect(await api.callAs(READ_ONLY).orders.get({ orderId: order.id })).toEqual(order);
});

const sale = { petId: 7n, quantity: 2 };
const internal = () => api.callAs(INTERNAL).orders;

test('an order that is placed with the idempotency key of another API key is another order', async () => {
  const placed = await internal().place({ ...sale, idempotencyKey: 'mine' });
  const other = { ...INTERNAL, keyId: 'another1' as ApiKeyId } as Principal; // it is not looked up
  const placedByOther = await api.callAs(other).orders.place({ ...sale, idempotencyKey: 'mine' });
  expect(placedByOther.id).not.toBe(placed.id);
});

test.each(ORDER_COMMANDS)('%s takes no idempotency key', async (command) => {
  const { id: orderId } = await internal().place(sale);
  const input = { orderId, idempotencyKey: 'once' };
  await expect(internal()[command](input)).rejects.toThrow(/may only contain orderId/);
  expect(await internal().get({ orderId })).toMatchObject({ status: 'pending' });
});

test('what is no idempotency key is refused, with what would be right', async () => {
  await expect(internal().place({ ...sale, idempotencyKey: 'ä' })).rejects.toThrow(
    /must be 1 to 255 printable ASCII characters/,
  );
});

test('each change that is made is announced once, and no call that changes nothing', async () => {
  await using api = await startTestApi();
  const { orders } = api.callAs(INTERNAL);
  const place = () => orders.place({ petId: 7n, quantity: 1, idempotencyKey: 'key' });
  const { id: orderId } = await place();
  expect(api.announcedCount()).toBe(1);
  await place();
  expect(api.announcedCount()).toBe(1);
  await Promise.allSettled([1, 2, 3].map(() => orders.cancel({ orderId })));
  expect(api.announcedCount()).toBe(2);
  await expect(orders.cancel({ orderId: 404n })).rejects.toThrow();
  expect(api.announcedCount()).toBe(2);
});
