import { type Operation, TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import { PetstoreError } from '../errors.ts';
import type { Connection } from '../options.ts';
import { mayHaveRun, retryDelayMs } from '../transport/retry-policy.ts';
import { RetryPauses } from './retry-pauses.ts';
import type { AppRouter, ErrorCode } from './router.ts';
import { petstoreErrorOf } from './trpc-errors.ts';

/**
 * Changes that may be asked for again where it is not known whether they were made, and the error by which the service
 * then tells that they were. All others could be made twice, or end as a failure although they were made.
 */
const CODE_WHEN_DONE: ReadonlyMap<string, ErrorCode> = new Map([['orders.cancel', 'order_already_cancelled']]);

const isRepeatable = ({ type, path }: Operation): boolean => type === 'query' || CODE_WHEN_DONE.has(path);

/** Tries calls again, by the same rules and within the same budget as over REST. */
export function createRetryLink({ retryPolicy, clock }: Connection): TRPCLink<AppRouter> {
  return () => {
    const pauses = new RetryPauses(clock);
    return ({ op, next }) =>
      observable((observer) => {
        let attemptsMade = 0;
        let mayBeDone = false;
        let stop = () => {};

        function attempt() {
          attemptsMade++;
          let isOver = false;
          const subscription = next(op).subscribe({
            next: (envelope) => observer.next(envelope),
            complete: () => observer.complete(),
            error(error) {
              isOver = true;
              judge(error);
            },
          });
          if (!isOver) stop = () => subscription.unsubscribe();
        }

        function judge(error: TRPCClientError<AppRouter>) {
          const known = petstoreErrorOf(error);
          if (known === undefined) return observer.error(error);
          if (mayBeDone && known.code === CODE_WHEN_DONE.get(op.path)) {
            observer.next({ result: { type: 'data', data: undefined } });
            return observer.complete();
          }
          const mayTry = isRepeatable(op) || !mayHaveRun(known);
          const delayMs = mayTry ? retryDelayMs(known, attemptsMade, retryPolicy) : undefined;
          if (delayMs === undefined) return observer.error(error);
          mayBeDone ||= mayHaveRun(known);
          stop = pauses.pause(sharedPartOf(error), delayMs, attempt);
        }

        function onAbort() {
          stop();
          observer.error(TRPCClientError.from(op.signal?.reason));
        }
        op.signal?.addEventListener('abort', onAbort, { once: true });
        attempt();
        return () => {
          op.signal?.removeEventListener('abort', onAbort);
          stop();
        };
      });
  };
}

/** What calls that failed together have in common: the failure of their request, or its answer. */
function sharedPartOf({ cause, meta }: TRPCClientError<AppRouter>): object {
  const shared = cause instanceof PetstoreError ? cause : meta?.['response'];
  return typeof shared === 'object' && shared !== null ? shared : {};
}
