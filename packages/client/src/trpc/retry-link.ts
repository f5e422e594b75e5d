import { type Operation, type OperationResultEnvelope, TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../options.ts';
import { untilAborted } from '../transport/clock.ts';
import type { AttemptFailure, RetriedCall } from '../transport/retry-loop.ts';
import { type Transition, traitsOf } from './procedures.ts';
import type { AppRouter } from './router.ts';
import { petstoreErrorOf } from './trpc-errors.ts';

type Envelope = OperationResultEnvelope<unknown, TRPCClientError<AppRouter>>;

/** Of a procedure that returns nothing. */
const NO_RESULT: Envelope = { result: { type: 'data', data: undefined } };

/** Tries calls again, by the same rules as over REST. */
export function createRetryLink({ retries }: Connection): TRPCLink<AppRouter> {
  return () =>
    ({ op, next }) =>
      observable((observer) => {
        const { type, path } = op;
        if (type === 'subscription') return next(op).subscribe(observer); // it comes back by itself
        const { takesKey = false, transition } = traitsOf(path);
        const signal = op.signal ?? undefined;
        // A batch ends when all of its calls are aborted; each call ends at once.
        const send = (call: Operation) =>
          untilAborted(
            signal,
            new Promise<Envelope>((resolve, reject) => next(call).subscribe({ next: resolve, error: reject })),
          );
        const run = (call: Operation, done?: RetriedCall<Envelope>['done']) =>
          retries.run({ attempt: () => send(call), signal, done, readFailure });
        const readResult = ({ resultOf }: Transition) =>
          resultOf === undefined ? NO_RESULT : run({ ...op, type: 'query', path: resultOf });
        run(
          takesKey ? { ...op, input: withKey(op.input) } : op,
          transition && { code: transition.doneCode, readResult: () => readResult(transition) },
        ).then(
          (envelope) => {
            observer.next(envelope);
            observer.complete();
          },
          (error) => observer.error(TRPCClientError.from(error)),
        );
        return () => {};
      });
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

/** Calls of one batch fail together: they share the error of their request, or its response. */
function readFailure(error: unknown): AttemptFailure | undefined {
  const known = petstoreErrorOf(error);
  if (known === undefined || !(error instanceof TRPCClientError)) return undefined;
  const sharedBy = error.cause === known ? known : error.meta?.['response'];
  return { error: known, sharedBy: typeof sharedBy === 'object' && sharedBy !== null ? sharedBy : known };
}
