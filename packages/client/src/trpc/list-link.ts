import { httpBatchStreamLink, TRPCClientError, type TRPCLink } from '@trpc/client';
import { map } from '@trpc/server/observable';
import type { Connection } from '../connection.ts';
import { connectionError } from '../transport/attempt.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { petstoreErrorOf, responseOf } from './trpc-errors.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

/** The last link of streamed calls. Each is a separate request, which delays no other call. */
export function createListLink(connection: Connection): TRPCLink<AppRouter> {
  const url = `${connection.options.serviceUrl}/trpc`;
  const link = httpBatchStreamLink<AppRouter>({ url, transformer, fetch: createTrpcFetch(connection), maxItems: 1 });
  return (runtime) => {
    const call = link(runtime);
    return ({ op, next }) =>
      call({ op, next }).pipe(
        map((envelope) => {
          const { data } = envelope.result as { readonly data: AsyncIterable<unknown> }; // the data of a procedure that streams
          const pieces = readPieces(data, responseOf(envelope.context), op.signal);
          return { ...envelope, result: { type: 'data' as const, data: pieces } };
        }),
      );
  };
}

/** The same pieces, with errors like those of other calls. Leaving the iteration ends the request. */
async function* readPieces(
  pieces: AsyncIterable<unknown>,
  response: ServiceResponse | undefined,
  signal: AbortSignal | null | undefined,
): AsyncGenerator<unknown, void> {
  try {
    for await (const piece of pieces) {
      yield piece;
      signal?.throwIfAborted(); // pieces that have arrived are then dropped
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    // tRPC's own message for a truncated stream does not distinguish it from other faults.
    const known = petstoreErrorOf(error) === undefined ? connectionError(response, error) : (error as Error);
    throw TRPCClientError.from(known);
  } finally {
    response?.close();
  }
}
