import {
  createTRPCClientProxy,
  httpBatchLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client';
import { observable } from '@trpc/server/observable';
import { type Connection, createConnection } from '../connection.ts';
import { checkFollowOptions, type FollowEventsOptions, followEvents } from '../follow-events.ts';
import type { PetstoreClientOptions } from '../options.ts';
import { type PetstoreRestClient, restClientOn } from '../rest/rest-client.ts';
import { createListLink } from './list-link.ts';
import { eventsOverTrpc, type OrderEvent } from './order-events.ts';
import { traitsOf } from './procedures.ts';
import { RetryingClient } from './retrying-client.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

type Procedures = TRPCClient<AppRouter>;

/**
 * Calls every procedure by its name, with its types: `client.orders.cancel.mutate({ orderId: 1n })`. `client.rest` is the
 * documented REST interface, with the same key and the same gate.
 */
export type PetstoreClient = Omit<Procedures, 'orders'> & {
  readonly orders: Omit<Procedures['orders'], 'events'>;
  readonly rest: PetstoreRestClient;
  /** Follows the changes of orders: see `v2.orderEvents` of the REST client. */
  events(options?: FollowEventsOptions): AsyncGenerator<OrderEvent, void, undefined>;
};

/** A batch is admitted whole or not at all, so a large one would wait long for enough room in the limits. */
const BATCH_MAX = 20;
/** The URL of a query contains ids. This is well below the limits of servers and proxies. */
const URL_MAX_LENGTH = 4_000;

/**
 * Makes a client. Calls of the same tick share one request, except for lists: each list has a separate response, and
 * reading it slowly delays no other call.
 *
 * @throws TypeError if an option is not valid
 */
export function createPetstoreClient(options: PetstoreClientOptions): PetstoreClient {
  return clientOn(createConnection(options));
}

/** @internal exported for tests, which choose the time of a connection */
export function clientOn(connection: Connection): PetstoreClient {
  const lastLink = splitLink<AppRouter>({
    condition: ({ path }) => traitsOf(path).streams === true,
    true: createListLink(connection),
    false: httpBatchLink({
      url: `${connection.options.serviceUrl}/trpc`,
      transformer,
      fetch: createTrpcFetch(connection),
      maxItems: BATCH_MAX,
      maxURLLength: URL_MAX_LENGTH,
    }),
  });
  const procedures = createTRPCClientProxy<AppRouter>(new RetryingClient(connection, [encodable, lastLink]));
  const added: Readonly<Record<PropertyKey, unknown>> = {
    rest: restClientOn(connection),
    events(options: FollowEventsOptions = {}) {
      checkFollowOptions(options);
      return followEvents(connection, eventsOverTrpc(connection.options.serviceUrl), options);
    },
  };
  // tRPC's client is a proxy, too, which takes every name for a procedure but the one by which its plugins find it.
  return new Proxy(procedures, {
    get: (target, name, receiver) => (Object.hasOwn(added, name) ? added[name] : Reflect.get(target, name, receiver)),
  }) as unknown as PetstoreClient; // the names that are added here are in no type of tRPC's
}

/** Fails a call whose input cannot be encoded: tRPC encodes the inputs of a batch together, and would fail all its calls. */
const encodable: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) => {
      try {
        JSON.stringify(transformer.serialize(op.input));
      } catch (error) {
        observer.error(TRPCClientError.from(error as Error)); // or anything, from a getter, which tRPC takes as well
        return;
      }
      return next(op).subscribe(observer);
    });
