import { orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPetstoreClient, type PetstoreClient, petstoreErrorOf } from '../src/index.ts';
import { createTestClient, TestClock } from './support/test-clients.ts';
import { type Fault, startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
let client: PetstoreClient;
const clock = new TestClock();
const OPTIONS = { apiKey: 'internal', clock };
beforeAll(async () => {
  service = await startTestService();
  client = createTestClient({ ...OPTIONS, baseUrl: service.origin });
});
afterAll(() => service[Symbol.asyncDispose]());
beforeEach(() => {
  service.requests.length = 0;
  service.faults.length = 0;
});

const NOW = new Date('2026-11-20T12:00:00.000Z');

async function placeOrder(): Promise<bigint> {
  const facts = { petId: petId(7n), quantity: 2, placedAt: NOW, status: 'pending', complete: false } as const;
  const { order } = await service.persistence.orders.insertOrder(facts, SERVICE_ORIGIN);
  return order.id;
}

/** What has become of an order. */
async function orderOf(id: bigint) {
  for await (const { orders } of service.persistence.orders.listOrders()) {
    const found = orders.find((order) => order.id === id);
    if (found !== undefined) return found;
  }
  throw new Error(`There is no order ${id}.`);
}

test('what changes something is sent so that no runtime repeats it by itself', async () => {
  const sent: unknown[] = [];
  const watched = createPetstoreClient({
    baseUrl: service.origin,
    apiKey: 'internal',
    fetch(url, init) {
      sent.push([init?.method, init?.keepalive]);
      return fetch(url, init);
    },
  });
  const { id } = await watched.orders.place.mutate({ petId: 7n, quantity: 1 });
  await watched.rest.cancelOrder({ orderId: id });
  await watched.rest.listOrders().toArray();
  expect(sent).toEqual([
    ['POST', false],
    ['DELETE', false],
    ['GET', undefined],
  ]);
});

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === 'fulfilled') return undefined;
  return petstoreErrorOf(outcome.reason)?.code;
}

/** Over REST and over tRPC alike. */
const CANCEL = {
  REST: (id) => client.rest.cancelOrder({ orderId: id }),
  tRPC: (id) => client.orders.cancel.mutate({ orderId: id }),
} satisfies Record<string, (id: bigint) => Promise<unknown>>;

describe.each(Object.entries(CANCEL))('cancelling an order over %s', (_, cancel) => {
  test.each<[what: string, faults: Fault[]]>([
    ['is lost', ['lose-response']],
    ['is lost before an attempt that is refused on arrival', ['lose-response', 'overloaded']],
  ])('whose response %s ends as the success that it was', async (_, faults) => {
    const id = await placeOrder();
    service.faults.push(...faults);
    expect(await cancel(id)).toBeUndefined();
    expect(await orderOf(id)).toMatchObject({ status: 'cancelled' });
    expect(service.requests).toHaveLength(1 + faults.length);
  });

  test('that was cancelled before is a conflict, whatever was asked of it since', async () => {
    const id = await placeOrder();
    await service.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
    expect(await codeOf(cancel(id))).toBe('order_already_cancelled');
    service.faults.push('overloaded');
    expect(await codeOf(cancel(id)), 'the first attempt was refused at the door').toBe('order_already_cancelled');
    expect(service.requests).toHaveLength(3);
  });

  test('that has shipped is a conflict, although a response was lost', async () => {
    const id = await placeOrder();
    await service.persistence.orders.applyCommand(orderId(id), 'ship', NOW, SERVICE_ORIGIN);
    service.faults.push('lose-response');
    expect(await codeOf(cancel(id))).toBe('order_already_shipped');
  });

  test('that was cancelled before is a success if an attempt may have been handled', async () => {
    const id = await placeOrder();
    await service.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
    service.faults.push('unavailable');
    expect(await codeOf(cancel(id))).toBeUndefined();
  });
});

describe('shipping or completing an order', () => {
  const apply = (id: bigint, command: 'ship' | 'complete') =>
    service.persistence.orders.applyCommand(orderId(id), command, NOW, SERVICE_ORIGIN);

  test('whose responses are lost ends as the success that it was, with the order', async () => {
    const id = await placeOrder();
    service.faults.push('lose-response', 'lose-response');
    const shipped = await client.orders.ship.mutate({ orderId: id });
    expect(shipped).toMatchObject({ status: 'shipped', complete: false });
    expect(shipped).toEqual(await orderOf(id));
    service.faults.push('lose-response');
    const completed = await client.orders.complete.mutate({ orderId: id });
    expect(completed).toMatchObject({ status: 'shipped', complete: true });
    expect(completed).toEqual(await orderOf(id));
    expect(service.requests.filter((request) => request.startsWith('POST'))).toHaveLength(5);
  });

  test('succeeds also if the order is read only at the third attempt', async () => {
    const id = await placeOrder();
    const faultsOfReading: Fault[] = ['lose-response', 'unavailable'];
    const { orders } = createTestClient({
      ...OPTIONS,
      baseUrl: service.origin,
      fetch(url, init) {
        if (init?.method === 'GET') service.faults.push(...faultsOfReading.splice(0, 1));
        return fetch(url, init);
      },
    });
    service.faults.push('lose-response');
    expect(await orders.ship.mutate({ orderId: id })).toMatchObject({ status: 'shipped' });
    expect(faultsOfReading).toEqual([]);
    expect(service.requests).toHaveLength(5);
  });

  test('together with others in one batch, whose response is lost, ends for each by itself', async () => {
    const ids = [await placeOrder(), await placeOrder(), await placeOrder()] as const;
    await service.persistence.orders.applyCommand(orderId(ids[2]), 'cancel', NOW, SERVICE_ORIGIN);
    service.faults.push('lose-response');
    const [shipped, cancelled, code] = await Promise.all([
      client.orders.ship.mutate({ orderId: ids[0] }),
      client.orders.cancel.mutate({ orderId: ids[1] }),
      codeOf(client.orders.ship.mutate({ orderId: ids[2] })),
    ]);
    expect(shipped).toMatchObject({ id: ids[0], status: 'shipped' });
    expect(cancelled).toBeUndefined();
    expect(code).toBe('order_already_cancelled');
  });

  test('that was shipped or completed before is a conflict, whatever was asked of it since', async () => {
    const id = await placeOrder();
    await apply(id, 'ship');
    expect(await codeOf(client.orders.ship.mutate({ orderId: id }))).toBe('order_already_shipped');
    service.faults.push('overloaded');
    expect(await codeOf(client.orders.ship.mutate({ orderId: id }))).toBe('order_already_shipped');
    await apply(id, 'complete');
    service.faults.push('overloaded');
    expect(await codeOf(client.orders.complete.mutate({ orderId: id }))).toBe('order_already_completed');
  });

  test('is a conflict if a response was lost and something else became of the order', async () => {
    const id = await placeOrder();
    service.faults.push('unavailable');
    expect(await codeOf(client.orders.complete.mutate({ orderId: id }))).toBe('order_not_shipped');
    await service.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
    service.faults.push('unavailable');
    expect(await codeOf(client.orders.ship.mutate({ orderId: id }))).toBe('order_already_cancelled');
  });
});

describe('placing an order over tRPC is repeated with its idempotency key, and places one', () => {
  const countOrders = async () => (await client.rest.listOrders().toArray()).length;

  test.each<Fault>(['unavailable', 'lose-response', 'overloaded'])('after %s', async (fault) => {
    const before = await countOrders();
    service.requests.length = 0;
    service.faults.push(fault);
    const placed = await client.orders.place.mutate({ petId: 1n, quantity: 1 });
    expect(service.requests).toHaveLength(2);
    expect(await orderOf(placed.id)).toEqual(placed);
    expect(await countOrders()).toBe(before + 1);
  });

  test('but two calls are two orders, unless their caller gives them one key', async () => {
    const before = await countOrders();
    const order = { petId: 1n, quantity: 1 };
    await Promise.all([client.orders.place.mutate(order), client.orders.place.mutate(order)]);
    const keyed = { ...order, idempotencyKey: 'order 7 of the till' };
    const first = await client.orders.place.mutate(keyed);
    expect(await client.orders.place.mutate(keyed)).toEqual(first);
    expect(await countOrders()).toBe(before + 3);
  });
});
