import {
  httpBatchStreamLink,
  type Operation,
  type OperationResultEnvelope,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../connection.ts';
import { connectionError } from '../transport/attempt.ts';
import { pause } from '../transport/clock.ts';
import { mayHaveRun, retryDelayMs } from '../transport/patient-fetch.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { type FollowEventsOptions, followOrderEvents } from './order-events.ts';
import { traitsOf } from './procedures.ts';
import type { AppRouter } from './router.ts';
import { transformer } from './transformer.ts';
import { petstoreErrorOf, responseOf } from './trpc-errors.ts';
import { createTrpcFetch } from './trpc-fetch.ts';

type Link = TRPCLink<AppRouter>;
type Envelope = OperationResultEnvelope<unknown, TRPCClientError<AppRouter>>;

/** Of a procedure that returns nothing. */
const NO_RESULT: Envelope = { result: { type: 'data', data: undefined } };

/**
 * Lets calls be sent again. A request that fails as a whole is tried again below; single calls of a batch are, here. Where
 * a transition is found made, after an attempt whose response was lost, that is a success.
 */
export function createRepeatLink({ options }: Connection): Link {
  return () =>
    ({ op, next }) => {
      if (op.type === 'subscription') return next(op); // it comes back by itself
      const { takesKey = false, transition } = traitsOf(op.path);
      const call = takesKey ? { ...op, input: withKey(op.input) } : op;
      const send = (operation: Operation) =>
        new Promise<Envelope>((resolve, reject) => next(operation).subscribe({ next: resolve, error: reject }));

      async function run(): Promise<Envelope> {
        let mayBeDone = false;
        for (let attemptsMade = 1; ; attemptsMade++) {
          try {
            return await send(call);
          } catch (error) {
            const known = petstoreErrorOf(error);
            const response = error instanceof TRPCClientError ? responseOf(error.meta) : undefined;
            mayBeDone ||= response?.isAfterLoss === true;
            if (known && mayBeDone && known.code === transition?.doneCode) {
              const { resultOf } = transition;
              return resultOf === undefined ? NO_RESULT : send({ ...op, type: 'query', path: resultOf });
            }
            const delayMs = known && response?.status === 207 ? retryDelayMs(known, attemptsMade, options) : undefined;
            if (known === undefined || delayMs === undefined) throw error;
            mayBeDone ||= mayHaveRun(known);
            await pause(options.clock, delayMs, op.signal ?? undefined);
          }
        }
      }

      return observable((observer) => {
        run().then(
          (envelope) => {
            observer.next(envelope);
            observer.complete();
          },
          (error) => observer.error(TRPCClientError.from(error)),
        );
        return () => {};
      });
    };
}

/** With an idempotency key, so that the service carries out once what is sent twice; one that the caller made stays. */
function withKey(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const isKeyed = 'idempotencyKey' in input && input.idempotencyKey !== undefined;
  return isKeyed ? input : { ...input, idempotencyKey: newKey() };
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that came without TLS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The last link of calls whose response is streamed: each is a request of its own, so that it delays no other call. */
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
            const { data } = envelope.result as { readonly data: AsyncIterable<unknown> }; // of procedures that stream
            const pieces = readPieces(data, responseOf(envelope.context), op.signal);
            observer.next({ ...envelope, result: { type: 'data', data: pieces } });
          },
        }),
      );
  };
}

/** The same pieces, whose failures are thrown as those of other calls, and whose request ends when they are left. */
async function* readPieces(
  pieces: AsyncIterable<unknown>,
  response: ServiceResponse | undefined,
  signal: AbortSignal | null | undefined,
): AsyncGenerator<unknown, void> {
  try {
    for await (const piece of pieces) {
      yield piece;
      signal?.throwIfAborted(); // what has arrived is not given any more
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

/** The last link of subscriptions, for callers that take events by callbacks: `client.orders.events.subscribe`. */
export function createEventsLink(connection: Connection): Link {
  return () =>
    ({ op }) =>
      observable((observer) => {
        const ending = new AbortController();
        const signal = op.signal ? AbortSignal.any([ending.signal, op.signal]) : ending.signal;
        const follow = async () => {
          const { after } = (op.input ?? {}) as FollowEventsOptions; // as its type says
          for await (const event of followOrderEvents(connection, { after, signal })) {
            observer.next({ result: { type: 'data', id: event.id, data: { id: event.id, data: event } } });
          }
        };
        follow().catch((error) => {
          if (op.signal?.aborted) observer.complete();
          else if (!ending.signal.aborted) observer.error(TRPCClientError.from(error));
        });
        return () => ending.abort();
      });
}
