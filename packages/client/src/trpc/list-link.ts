import { httpBatchStreamLink, TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../connection.ts';
import { connectionError } from '../transport/attempt.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { petstoreErrorOf } from './trpc-errors.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

/** The last link of streamed calls. Each is a separate request, which delays no other call. */
export function createListLink(connection: Connection): TRPCLink<AppRouter> {
  const url = `${connection.options.serviceUrl}/trpc`;
  const fetchOnce = createTrpcFetch(connection);
  return (runtime) =>
    ({ op, next }) => {
      let response: ServiceResponse | undefined;
      // Each call has its own link, because tRPC's errors do not tell which response they concern.
      const call = httpBatchStreamLink<AppRouter>({
        url,
        transformer,
        maxItems: 1,
        async fetch(...request) {
          const answer = await fetchOnce(...request);
          response = answer.source;
          return answer;
        },
      })(runtime);
      return observable((observer) =>
        call({ op, next }).subscribe({
          next(envelope) {
            const { data } = envelope.result as { readonly data: AsyncIterable<unknown> }; // the data of a procedure that streams
            observer.next({ ...envelope, result: { type: 'data', data: readPieces(data, response, op.signal) } });
          },
          error(error) {
            response?.close();
            const isKnown = petstoreErrorOf(error) !== undefined;
            // tRPC's own error of a response that it does not understand names neither its status nor its request.
            const unexpected = isKnown ? undefined : response?.createError(undefined, undefined, error);
            observer.error(unexpected === undefined ? error : TRPCClientError.from(unexpected));
          },
          complete: observer.complete,
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
