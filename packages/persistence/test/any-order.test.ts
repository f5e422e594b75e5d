import { isDeepStrictEqual } from 'node:util';
import {
  actor,
  BEGINNING_OF_EVENTS,
  type IdempotencyKey,
  type NewOrder,
  type Order,
  REQUESTED_FIELDS,
  requestedValuesOf,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { anyOrder, anyOrders } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { importOrders, NOW, useTestStore } from './support.ts';

// Nothing is lost of an order with any values, wherever it goes. Lists: see lists.test.ts.

const store = useTestStore();
beforeEach(() => store.clear());

const newOrderOf = (order: Order): NewOrder => ({
  ...requestedValuesOf(order),
  status: 'pending',
  complete: false,
  placedAt: NOW,
});

const lastEvent = async () => (await store.persistence.events.readEvents(BEGINNING_OF_EVENTS, 1_000)).events.at(-1);

describe('an order with any values', () => {
  test('is placed, found and recorded as it was asked for, and again for the same call', async () => {
    let calls = 0;
    await fc.assert(
      fc.asyncProperty(anyOrder, anyOrder, async (asked, others) => {
        const { orders } = store.persistence;
        const origin = { actor: actor('operator', 'a test') };
        const key = `call ${calls++}` as IdempotencyKey; // of the right form
        const { order } = await orders.insertOrder(newOrderOf(asked), origin, key);
        expect(order).toEqual({ ...newOrderOf(asked), id: order.id });
        expect(await orders.findOrder(order.id)).toEqual(order);
        expect(await lastEvent()).toMatchObject({ type: 'order.placed', order });
        const cancelled = { ...order, status: 'cancelled', cancelledAt: NOW };
        const outcome = await orders.applyCommand(order.id, 'cancel', NOW, SERVICE_ORIGIN);
        expect(outcome).toEqual({ applied: true, order: cancelled });
        expect((await lastEvent())?.order).toEqual(cancelled);
        expect(await orders.insertOrder(newOrderOf(asked), origin, key)).toEqual({ placed: false, order });
        for (const name of REQUESTED_FIELDS) {
          const other = newOrderOf({ ...asked, [name]: others[name] });
          const call = orders.insertOrder(other, origin, key);
          if (isDeepStrictEqual(other, newOrderOf(asked))) await call;
          else await expect(call).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
        }
      }),
      { numRuns: 20 },
    );
  });

  test('is found and recorded as it was imported, in any state', async () => {
    await fc.assert(
      fc.asyncProperty(anyOrders({ minLength: 1, maxLength: 20 }), async (imported) => {
        await store.clear();
        await importOrders(store, imported);
        const sorted = imported.toSorted((a, b) => (a.id < b.id ? -1 : 1));
        for (const order of sorted) expect(await store.persistence.orders.findOrder(order.id)).toEqual(order);
        const { items: page } = await store.persistence.orders.findOrders({ filter: {}, limit: 1_000 });
        expect(page).toEqual(sorted);
        const { events } = await store.persistence.events.readEvents(BEGINNING_OF_EVENTS, 1_000);
        expect(events.map(({ order }) => order)).toEqual(sorted);
      }),
      { numRuns: 8 },
    );
  });
});
