import type { AppRouter } from '@petstore/api';
import { INT64_MAX, INT64_MIN, type Order, orderId, petId, SHIP_DATE_MAX, SHIP_DATE_MIN } from '@petstore/domain';
import { createTRPCClient, httpBatchStreamLink } from '@trpc/client';
import fc from 'fast-check';
import superjson from 'superjson';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { createPetstoreClient, type PetstoreOutputs, transformer } from '../src/index.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

const clientOf = ({ origin }: TestService) => createPetstoreClient({ baseUrl: origin, apiKey: 'external' });

/** `@trpc/client` by itself. */
function ownClientOf({ origin }: TestService, ownTransformer: typeof transformer) {
  const headers = { authorization: 'Bearer external' };
  const link = { url: `${origin}/trpc`, transformer: ownTransformer, headers };
  return createTRPCClient<AppRouter>({ links: [httpBatchStreamLink(link)] });
}

type ListedOrder = PetstoreOutputs['orders']['place'];

async function listed(call: Promise<AsyncIterable<readonly ListedOrder[]>>): Promise<ListedOrder[]> {
  const orders: ListedOrder[] = [];
  for await (const batch of await call) orders.push(...batch);
  return orders;
}

const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.constantFrom(INT64_MIN, INT64_MIN + 1n, -1n, 0n, 1n, INT64_MAX - 1n, INT64_MAX),
);
const time = fc.oneof(
  fc.date({ min: SHIP_DATE_MIN, max: SHIP_DATE_MAX, noInvalidDate: true }),
  fc.constantFrom(SHIP_DATE_MIN, SHIP_DATE_MAX, new Date(0), new Date(-1), new Date('1999-12-31T23:59:59.999Z')),
);
const state = fc.oneof(
  fc.record({ status: fc.constant('pending' as const), complete: fc.constant(false as const) }),
  fc.record({ status: fc.constant('shipped' as const), complete: fc.constant(false as const), shippedAt: time }),
  fc.record({
    status: fc.constant('shipped' as const),
    complete: fc.constant(true as const),
    shippedAt: time,
    completedAt: time,
  }),
  fc.record({ status: fc.constant('cancelled' as const), complete: fc.constant(false as const), cancelledAt: time }),
);
const anyOrder: fc.Arbitrary<Order> = fc
  .record({
    id: int64.map(orderId),
    petId: int64.map(petId),
    quantity: fc.oneof(fc.integer({ min: 1, max: 2_147_483_647 }), fc.constantFrom(1, 2_147_483_647)),
    placedAt: time,
    shipDate: fc.option(time, { nil: undefined }),
    state,
  })
  .map(({ state: ownState, shipDate, ...facts }) => ({ ...facts, ...ownState, ...(shipDate && { shipDate }) }));

describe('a list', () => {
  // More than the first batch.
  const orders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, minLength: 300, maxLength: 900, size: 'max' });

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
        const client = clientOf(fresh);
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
    const batches = await clientOf(service).orders.list.query();
    expectTypeOf(batches).toExtend<AsyncIterable<readonly ListedOrder[]>>();
    for await (const batch of batches) {
      expectTypeOf(batch).toEqualTypeOf<readonly Order[]>();
      for (const order of batch) {
        expectTypeOf(order.id).toExtend<bigint>();
        expectTypeOf(order.shipDate).toEqualTypeOf<Date | undefined>();
        if (order.status === 'cancelled') expectTypeOf(order.cancelledAt).toEqualTypeOf<Date>();
      }
    }
  });
});
