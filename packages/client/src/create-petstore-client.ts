import type { AppRouter } from '@petstore/api';
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, splitLink, type TRPCClient } from '@trpc/client';
import { transformer } from './transformer.ts';

export interface PetstoreClientOptions {
  /** Where the service is: its origin, such as `https://petstore.example.com`, or its REST address, which ends in `/v1`. */
  readonly baseUrl: string | URL;
  /** Sent as the bearer token. Placing, shipping and completing orders takes an internal key. */
  readonly apiKey: string;
}

/** Calls every procedure by its name, with its types: `client.orders.cancel.mutate({ orderId: 1n })`. */
export type PetstoreClient = TRPCClient<AppRouter>;

/** A batch is admitted whole or not at all, so a large one would wait long for its limits. */
const BATCH_MAX = 20;
/** Ids travel in the URL of a query. This is well below what servers and proxies take. */
const URL_MAX_LENGTH = 4_000;

/** Procedures that answer bit by bit. */
const STREAMED_PROCEDURES: ReadonlySet<string> = new Set(['orders.list']);

/**
 * Makes a client. Calls that are made together go as one request, but for lists: each has a response of its own, so that
 * whoever reads one slowly holds nobody else up.
 *
 * @throws TypeError when the address or the key cannot be one
 */
export function createPetstoreClient(options: PetstoreClientOptions): PetstoreClient {
  const link = {
    url: trpcUrl(options.baseUrl),
    transformer,
    headers: { authorization: `Bearer ${checkedKey(options.apiKey)}` },
  };
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ path }) => STREAMED_PROCEDURES.has(path),
        true: httpBatchStreamLink({ ...link, maxItems: 1 }),
        false: httpBatchLink({ ...link, maxItems: BATCH_MAX, maxURLLength: URL_MAX_LENGTH }),
      }),
    ],
  });
}

function trpcUrl(baseUrl: string | URL): string {
  const url = URL.parse(baseUrl.toString());
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('baseUrl must be an http or https address, such as https://petstore.example.com');
  }
  const path = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return `${url.origin}${path}/trpc`;
}

function checkedKey(apiKey: string): string {
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey must be an API key, which holds no blanks');
  return apiKey;
}
