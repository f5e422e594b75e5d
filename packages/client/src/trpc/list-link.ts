import { httpBatchStreamLink, TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { PullGate } from './pull-gate.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { petstoreErrorOf } from './trpc-errors.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

/**
 * The last link of calls whose response is streamed. Each is a request of its own, so that a slow reader delays no other
 * call, and is read from the network only as fast as its caller reads.
 */
export function createListLink(connection: Connection): TRPCLink<AppRouter> {
  const url = `${connection.serviceUrl}/trpc`;
  return (runtime) =>
    ({ op, next }) =>
      observable((observer) => {
        const gate = new PullGate();
        let response: ServiceResponse | undefined;
        const onStream = (begun: ServiceResponse) => {
          response = begun;
        };
        const fetch = createTrpcFetch(connection, { gate, onStream });
        const explain = (error: unknown): unknown => {
          if (op.signal?.aborted) return op.signal.reason;
          // tRPC's own message for a truncated stream does not distinguish it from other faults.
          const brokenOff = petstoreErrorOf(error) === undefined ? response?.createBrokenOffError(error) : undefined;
          return TRPCClientError.from((brokenOff ?? error) as Error); // whatever else was thrown
        };
        const call = httpBatchStreamLink<AppRouter>({ url, transformer, fetch })(runtime);
        return call({ op, next }).subscribe({
          next(envelope) {
            const { result } = envelope;
            if (result.type !== 'data' && result.type !== undefined) return observer.next(envelope);
            const data = isAsyncIterable(result.data) ? pacedBy(gate, result.data, explain, op.signal) : result.data;
            observer.next({ ...envelope, result: { ...result, data } });
          },
          error: (error) => observer.error(TRPCClientError.from(explain(error) as Error)),
          complete: () => observer.complete(),
        });
      });
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown, unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/**
 * The same pieces, each of which is read from the network when its reader waits for it. What goes wrong meanwhile is thrown
 * as for calls whose response comes at once.
 */
function pacedBy(
  gate: PullGate,
  pieces: AsyncIterable<unknown, unknown>,
  explain: (error: unknown) => unknown,
  signal: AbortSignal | null | undefined,
): AsyncIterableIterator<unknown, unknown> {
  const iterator = pieces[Symbol.asyncIterator]();
  gate.close();
  let waiting = 0;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      waiting++;
      gate.open();
      try {
        const piece = await iterator.next();
        // Where all has arrived, nothing else notices.
        signal?.throwIfAborted();
        return piece;
      } catch (error) {
        throw explain(error);
      } finally {
        if (--waiting === 0) gate.close();
      }
    },
    async return(value) {
      // A list that was never begun has nothing else by which its request ends.
      gate.end();
      await iterator.return?.();
      return { done: true, value };
    },
  };
}
