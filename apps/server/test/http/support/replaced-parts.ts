import { orderJson } from '@petstore/api/order-json';
import {
  LISTED_FIELDS,
  type OrderBatch,
  type OrderRepository,
  type OrderText,
  type OrderTextBatch,
} from '@petstore/domain';
import type { TestAppOptions } from './test-app.ts';

/** The same object, with some of its methods replaced. */
export function overriding<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      if (name in methods) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name);
      // Private fields are the target's own.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const rejecting = <Port extends object>(port: Port, error: Error): Port =>
  new Proxy(port, { get: () => () => Promise.reject(error) });

/** For an app in which no key can be looked up. */
export const failingToFindKeys = (error: Error): TestAppOptions => ({
  wrap: { apiKeys: (apiKeys) => rejecting(apiKeys, error) },
});

/** For an app whose repositories, log and look at limits fail with an error, whichever of their methods is called. */
export function failing(error: Error): TestAppOptions {
  const list = (): never => {
    throw error;
  };
  return {
    wrap: {
      orders: (orders) => overriding(rejecting(orders, error), { listOrders: list, listOrderTexts: list }),
      pets: (pets) => rejecting(pets, error),
      events: (events) => rejecting(events, error),
      limiter: (limiter) => overriding(limiter, { peek: () => Promise.reject(error) }),
    },
  };
}

type TextList = (original: AsyncIterable<OrderTextBatch>) => AsyncIterable<OrderTextBatch>;

/** A repository whose lists as text, which REST sends, are others. */
export const withListing = (orders: OrderRepository, list: TextList): OrderRepository =>
  overriding(orders, { listOrderTexts: () => list(orders.listOrderTexts(LISTED_FIELDS)) });

/** The real repository with other lists, for `startTestApp`: as text and, if `batches` are given, of orders. */
export const listingOf = (texts: TextList, batches?: () => AsyncIterable<OrderBatch>) => ({
  wrap: {
    orders: (orders: OrderRepository): OrderRepository =>
      overriding(withListing(orders, texts), batches === undefined ? {} : { listOrders: batches }),
  },
});

/** Begin and end of a list, of which REST makes `[` and `]` if nothing comes between. */
export const LIST_BEGIN: OrderTextBatch = { orders: [], isLast: false };
export const LIST_END: OrderTextBatch = { orders: [], isLast: true };

const ORDER: OrderText = {
  id: '1',
  petId: '7',
  quantity: '2',
  shipDate: undefined,
  status: 'pending',
  complete: false,
};

export const ORDER_BATCH: OrderTextBatch = { orders: [ORDER], isLast: false };
export const ORDER_JSON = '{"id":1,"petId":7,"quantity":2,"complete":false}';

/** A batch that takes so many bytes in a list over REST, with the comma before it: its order has a very long id. */
export const batchOf = (bytes: number): OrderTextBatch => ({
  orders: [{ ...ORDER, id: '1'.repeat(bytes - orderJson(ORDER).length) }],
  isLast: false,
});
