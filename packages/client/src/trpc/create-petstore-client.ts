import { createTRPCClient, httpBatchLink, httpLink, splitLink, type TRPCClient } from '@trpc/client';
import { createConnection, type PetstoreClientOptions } from '../options.ts';
import { type PetstoreRestClient, restClientOn } from '../rest/create-petstore-rest-client.ts';
import { createListLink } from './list-link.ts';
import { createRetryLink } from './retry-link.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

/**
 * Calls every procedure by its name, with its types: `client.orders.cancel.mutate({ orderId: 1n })`. `client.rest` is the
 * documented REST interface, under the same key and in the same queue.
 */
export type PetstoreClient = TRPCClient<AppRouter> & { readonly rest: PetstoreRestClient };

/** A batch is admitted whole or not at all, so a large one would wait long for its limits. */
const BATCH_MAX = 20;
/** Ids travel in the URL of a query. This is well below what servers and proxies take. */
const URL_MAX_LENGTH = 4_000;

/** Procedures that answer bit by bit. */
const STREAMED_PROCEDURES: ReadonlySet<string> = new Set(['orders.list']);
/** Procedures that are not counted, and answered while others have to wait. */
const FREE_PROCEDURES: ReadonlySet<string> = new Set(['limits.current']);

/**
 * Makes a client. Calls that are made together go as one request, but for lists: each has a response of its own, so that
 * whoever reads one slowly holds nobody else up.
 *
 * @throws TypeError when an option cannot be what it is meant to be
 */
export function createPetstoreClient(options: PetstoreClientOptions): PetstoreClient {
  const connection = createConnection(options);
  const link = { url: `${connection.serviceUrl}/trpc`, transformer, fetch: createTrpcFetch(connection) };
  const procedures = createTRPCClient<AppRouter>({
    links: [
      createRetryLink(connection),
      splitLink({
        condition: ({ path }) => STREAMED_PROCEDURES.has(path),
        true: createListLink(connection),
        false: splitLink({
          condition: ({ path }) => FREE_PROCEDURES.has(path),
          true: httpLink({ ...link, fetch: createTrpcFetch(connection, { isFree: true }) }),
          false: httpBatchLink({ ...link, maxItems: BATCH_MAX, maxURLLength: URL_MAX_LENGTH }),
        }),
      }),
    ],
  });
  const rest = restClientOn(connection);
  // The procedures are a proxy, which takes every name for one of theirs. The types do not see what ours adds.
  return new Proxy(procedures, {
    get: (target, name, receiver) => (name === 'rest' ? rest : Reflect.get(target, name, receiver)),
  }) as PetstoreClient;
}
