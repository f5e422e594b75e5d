import type { AppRouter } from '@petstore/api';
import { isKnownOrder, type StoredOrder } from '@petstore/domain';
import { anyOrders } from '@petstore/testing/any-order';
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, TRPCClientError } from '@trpc/client';
import fc from 'fast-check';
import superjson from 'superjson';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import {
  createPetstoreClient,
  createPetstoreRestClient,
  PermissionError,
  type PetstoreErrorCode,
  type PetstoreOutputs,
  petstoreErrorOf,
  transformer,
} from '../src/index.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

const clientOf = (apiKey: string, baseUrl = service.origin) => createPetstoreClient({ baseUrl, apiKey });

/** The code that a call fails with. */
async function failure(call: Promise<unknown>): Promise<PetstoreErrorCode | undefined> {
  const [outcome] = await Promise.allSettled([call]);
  expect(outcome.status).toBe('rejected');
  return outcome.status === 'rejected' ? petstoreErrorOf(outcome.reason)?.code : undefined;
}

describe('an internal service', () => {
  test('places, ships and completes an order, ids being bigint and times Date', async () => {
    const { orders } = clientOf('internal');
    const shipDate = new Date('2026-12-01T00:00:00.001Z');
    const placed = await orders.place.mutate({ petId: 2n ** 63n - 1n, quantity: 2, shipDate });
    expectTypeOf(placed).toEqualTypeOf<PetstoreOutputs['orders']['place']>();
    expect(placed).toEqual({
      id: expect.any(BigInt),
      petId: 2n ** 63n - 1n,
      quantity: 2,
      shipDate,
      status: 'pending',
      complete: false,
      placedAt: expect.any(Date),
    });
    const shipped = await orders.ship.mutate({ orderId: placed.id });
    const completed = await orders.complete.mutate({ orderId: placed.id });
    expect(completed).toEqual({ ...shipped, complete: true, completedAt: expect.any(Date) });
    expect(await failure(orders.cancel.mutate({ orderId: placed.id }))).toBe('order_already_shipped');
  });
});

describe('a list', () => {
  test('can be left early, and the client goes on to work', async () => {
    await service.persistence.orders.generateOrders({ count: 3_000, seed: 1, now: new Date() });
    const client = clientOf('external');
    let seen = 0;
    for await (const batch of await client.orders.list.query()) {
      seen += batch.length;
      break;
    }
    expect(seen).toBeGreaterThan(0);
    expect(seen).toBeLessThan(3_000);
    expect(await failure(client.orders.cancel.mutate({ orderId: -1n }))).toBe('order_not_found');
  });

  test('that fails on its way rejects, and is never taken for the whole', async () => {
    await using failing = await startTestService();
    await failing.persistence.orders.generateOrders({ count: 5_000, seed: 1, now: new Date() });
    const read = async () => {
      for await (const _ of await clientOf('external', failing.origin).orders.list.query()) {
        await failing.persistence.close();
      }
    };
    await expect(read()).rejects.toBeInstanceOf(TRPCClientError);
    expect(await failure(read())).toBe('service_unavailable');
  });
});

describe('without this package', () => {
  test('a link that does not stream is told how to read many orders', async () => {
    const url = `${service.origin}/trpc`;
    const link = httpBatchLink({ url, transformer: superjson, headers: { authorization: 'Bearer external' } });
    const client = createTRPCClient<AppRouter>({ links: [link] });
    await expect(client.orders.list.query()).rejects.toThrow(
      /httpBatchStreamLink, or read pages with v2\.orders\.list/,
    );
  });
});

describe('any client', () => {
  test('without a valid key fails with invalid_api_key, also when it streams', async () => {
    const client = clientOf('wrong');
    expect(await failure(client.orders.list.query())).toBe('invalid_api_key');
    expect(await failure(client.pets.get.query({ petId: 1n }))).toBe('invalid_api_key');
  });

  test('sends calls that are made together as one request, and lists apart', async () => {
    const client = clientOf('external');
    service.requests.length = 0;
    await Promise.allSettled([
      client.pets.get.query({ petId: 1n }),
      client.orders.list.query(),
      client.orders.list.query(),
      client.pets.get.query({ petId: 2n }),
    ]);
    const paths = service.requests.map((request) => request.split('?')[0]).toSorted();
    expect(paths).toEqual(['GET /trpc/orders.list', 'GET /trpc/orders.list', 'GET /trpc/pets.get,pets.get']);
  });
});

test('a read-only key may read, and is told over tRPC and REST what to ask the operator for', async () => {
  const { id } = await clientOf('internal').orders.place.mutate({ petId: 1n, quantity: 1 });
  const { orders } = clientOf('read-only');
  expect(await orders.get.query({ orderId: id })).toMatchObject({ id, status: 'pending' });
  const rest = createPetstoreRestClient({ baseUrl: service.origin, apiKey: 'read-only' });
  for (const cancel of [() => orders.cancel.mutate({ orderId: id }), () => rest.cancelOrder({ orderId: id })]) {
    const failure = petstoreErrorOf(await cancel().catch((error: unknown) => error));
    expect(failure).toBeInstanceOf(PermissionError);
    expect(failure).toMatchObject({ code: 'insufficient_scope', message: expect.stringContaining('Ask the operator') });
  }
});

/** `@trpc/client` by itself. */
function ownClientOf({ origin }: TestService, ownTransformer: typeof transformer) {
  const headers = { authorization: 'Bearer external' };
  const link = { url: `${origin}/trpc`, transformer: ownTransformer, headers };
  return createTRPCClient<AppRouter>({ links: [httpBatchStreamLink(link)] });
}

type ListedOrder = PetstoreOutputs['orders']['get'];

async function listed(call: Promise<AsyncIterable<readonly ListedOrder[]>>): Promise<ListedOrder[]> {
  const orders: ListedOrder[] = [];
  for await (const batch of await call) orders.push(...batch);
  return orders;
}

describe('a list of any orders', () => {
  // More than the first batch.
  const orders = anyOrders({ minLength: 300, maxLength: 900 });

  test('gives every client the same, exactly what is stored, over the whole range of ids and times', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (stored) => {
        await using fresh = await startTestService();
        const { insertedCount } = await fresh.persistence.orders.importOrders(
          (async function* () {
            for (const [index, value] of stored.entries()) yield { line: index + 1, value };
          })(),
        );
        expect(insertedCount).toBe(stored.length);
        const sorted = stored.toSorted((a, b) => (a.id < b.id ? -1 : 1));
        const client = clientOf('external', fresh.origin);
        expect(await listed(client.orders.list.query())).toEqual(sorted);
        expect(await listed(ownClientOf(fresh, superjson).orders.list.query())).toEqual(sorted);
        const fast = ownClientOf(fresh, transformer);
        expect(await listed(fast.orders.list.query())).toEqual(sorted);
        expect(await client.rest.listOrders().toArray()).toEqual(
          sorted.map(({ id, petId: pet, quantity, shipDate, complete }) => ({
            id,
            petId: pet,
            quantity,
            ...(shipDate && { shipDate: shipDate.toISOString() }),
            complete,
          })),
        );
      }),
      { numRuns: 2, endOnFailure: true }, // hundreds of orders made fewer, one by one, would take minutes
    );
  });

  test('is one of batches of orders, by its type', async () => {
    const batches = await clientOf('external').orders.list.query();
    expectTypeOf(batches).toExtend<AsyncIterable<readonly ListedOrder[]>>();
    for await (const batch of batches) {
      expectTypeOf(batch).toEqualTypeOf<readonly StoredOrder[]>();
      for (const order of batch) {
        expectTypeOf(order.id).toExtend<bigint>();
        expectTypeOf(order.shipDate).toEqualTypeOf<Date | undefined>();
        if (isKnownOrder(order) && order.status === 'cancelled') expectTypeOf(order.cancelledAt).toEqualTypeOf<Date>();
      }
    }
  });
});
