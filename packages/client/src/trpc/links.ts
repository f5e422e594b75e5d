import { httpBatchStreamLink, TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../connection.ts';
import { connectionError } from '../transport/attempt.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { type FollowEventsOptions, followOrderEvents } from './order-events.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { petstoreErrorOf, responseOf } from './trpc-errors.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

type Link = TRPCLink<AppRouter>;

/** The last link of streamed calls. Each is a separate request, which delays no other call. */
export function createListLink(connection: Connection): Link {
  const url = `${connection.serviceUrl}/trpc`;
  const link = httpBatchStreamLink<AppRouter>({ url, transformer, fetch: createTrpcFetch(connection), maxItems: 1 });
  return (runtime) => {
    const call = link(runtime);
    return ({ op, next }) =>
      observable((observer) =>
        call({ op, next }).subscribe({
          ...observer,
          next(envelope) {
            const { data } = envelope.result as { readonly data: AsyncIterable<unknown> }; // the data of a procedure that streams
            const pieces = readPieces(data, responseOf(envelope.context), op.signal);
            observer.next({ ...envelope, result: { type: 'data', data: pieces } });
          },
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

/** The last link of subscriptions, for callers that receive events by callbacks: `client.orders.events.subscribe`. */
export function createEventsLink(connection: Connection): Link {
  return () =>
    ({ op }) =>
      observable((observer) => {
        const ending = new AbortController();
        const leave = () => ending.abort();
        const follow = async () => {
          const { after } = (op.input ?? {}) as FollowEventsOptions; // by its type
          for await (const event of followOrderEvents(connection, { after, signal: ending.signal })) {
            observer.next({ result: { type: 'data', id: event.id, data: { id: event.id, data: event } } });
          }
        };
        // Not `AbortSignal.any`, which Node has only from 20.3.
        if (op.signal?.aborted) leave();
        op.signal?.addEventListener('abort', leave);
        follow().catch((error) => {
          if (op.signal?.aborted) observer.complete();
          else if (!ending.signal.aborted) observer.error(TRPCClientError.from(error));
        });
        return () => {
          op.signal?.removeEventListener('abort', leave);
          leave();
        };
      });
}
