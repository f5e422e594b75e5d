import { createTRPCClientProxy, httpBatchLink, httpLink, splitLink, type TRPCClient } from '@trpc/client';
import { createConnection } from '../connection.ts';
import type { PetstoreClientOptions } from '../options.ts';
import { type PetstoreRestClient, restClientOn } from '../rest/rest-client.ts';
import { createEventsLink, createListLink } from './links.ts';
import { type FollowEventsOptions, followOrderEvents, type OrderEvent } from './order-events.ts';
import { PatientClient } from './patient-client.ts';
import { traitsOf } from './procedures.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

/**
 * Calls every procedure by its name, with its types: `client.orders.cancel.mutate({ orderId: 1n })`. `client.rest` is the
 * documented REST interface, with the same key and the same gate.
 */
export type PetstoreClient = TRPCClient<AppRouter> & {
  readonly rest: PetstoreRestClient;
  /** Follows the changes of orders: see {@link followOrderEvents}. It requires an internal key. */
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
  const connection = createConnection(options);
  const link = { url: `${connection.serviceUrl}/trpc`, transformer };
  const lastLink = splitLink<AppRouter>({
    condition: ({ type }) => type === 'subscription',
    true: createEventsLink(connection),
    false: splitLink({
      condition: ({ path }) => traitsOf(path).streams === true,
      true: createListLink(connection),
      false: splitLink({
        condition: ({ path }) => traitsOf(path).isFree === true,
        true: httpLink({ ...link, fetch: createTrpcFetch(connection, true) }),
        false: httpBatchLink({
          ...link,
          fetch: createTrpcFetch(connection),
          maxItems: BATCH_MAX,
          maxURLLength: URL_MAX_LENGTH,
        }),
      }),
    }),
  });
  const procedures = createTRPCClientProxy<AppRouter>(new PatientClient(connection.options, [lastLink]));
  const added: Readonly<Record<PropertyKey, unknown>> = {
    rest: restClientOn(connection),
    events: (eventsOptions?: FollowEventsOptions) => followOrderEvents(connection, eventsOptions),
  };
  // tRPC's client is a proxy that takes every name for a procedure. Its type cannot show the names that are added here.
  return new Proxy(procedures, {
    get: (target, name, receiver) => (Object.hasOwn(added, name) ? added[name] : Reflect.get(target, name, receiver)),
  }) as PetstoreClient;
}
