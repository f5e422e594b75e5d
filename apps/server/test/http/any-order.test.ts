import {
  BEGINNING_OF_EVENTS,
  LISTED_FIELDS,
  type Order,
  orderTextOf,
  requestedValuesOf,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { anyOrders } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventsInMemory } from '../../src/testing/events-in-memory.ts';
import { createOrdersInMemory } from '../../src/testing/orders-in-memory.ts';
import { restoreTestOrders } from '../../src/testing/restore-test-orders.ts';
import { importOrders } from '../support/database.ts';
import { startTestApp } from './support/test-app.ts';

// Nothing is lost of an order with any values and in any state, in v2 and in the service for tests.

/** An order in v2: all its fields, ids and times as texts. */
const shownOf = (order: Order) =>
  JSON.parse(JSON.stringify(order, (_, value) => (typeof value === 'bigint' ? value.toString() : value)));

const inOrder = (orders: readonly Order[]) => orders.toSorted((a, b) => (a.id < b.id ? -1 : 1));

test('v2 shows what is stored, in pages, one by one and as events', async () => {
  const [orders = []] = fc.sample(anyOrders({ minLength: 60, maxLength: 60 }), 1);
  await using app = await startTestApp();
  await importOrders(app.persistence, orders);
  const shown = inOrder(orders).map(shownOf);
  const read = async (path: string) => JSON.parse(await (await app.fetch(path)).text());
  const page = await read('/v2/store/orders?limit=1000');
  expect(page).toEqual({ orders: shown, next: null });
  const { events } = await read('/v2/store/order-events?after=0&limit=1000');
  expect(events.map((event: { order: unknown }) => event.order)).toEqual(shown);
  for (const order of shown.slice(0, 10)) expect(await read(`/v2/store/orders/${order['id']}`)).toEqual(order);
});

test('the service for tests has what it was given, and what is placed', async () => {
  await fc.assert(
    fc.asyncProperty(anyOrders({ minLength: 1, maxLength: 20 }), async (orders) => {
      const events = new EventsInMemory();
      const store = createOrdersInMemory(orders, events);
      const sorted = inOrder(orders);
      const texts = [];
      for await (const batch of store.listOrderTexts(LISTED_FIELDS)) texts.push(...batch.orders);
      expect(texts).toEqual(sorted.map(orderTextOf));
      for (const order of orders) expect(await store.findOrder(order.id)).toEqual(order);
      const page = await events.readEvents(BEGINNING_OF_EVENTS, 100);
      expect(page.events.map(({ order }) => order)).toEqual(orders);
      const restored = restoreTestOrders(sorted, new Date());
      expect(restored.map(orderTextOf)).toEqual(sorted.map(orderTextOf));
      for (const order of sorted) {
        const asked = {
          ...requestedValuesOf(order),
          status: 'pending',
          complete: false,
          placedAt: order.placedAt,
        } as const;
        const placed = await createOrdersInMemory([], events).insertOrder(asked, SERVICE_ORIGIN);
        expect(placed).toEqual({ placed: true, order: { ...asked, id: 1n } });
      }
    }),
  );
});
