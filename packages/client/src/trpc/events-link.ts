import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { Connection } from '../options.ts';
import { type FollowEventsOptions, followOrderEvents } from './order-events.ts';
import type { AppRouter } from './router.ts';

/** The last link of subscriptions, for callers that take events by callbacks: `client.orders.events.subscribe`. */
export function createEventsLink(connection: Connection): TRPCLink<AppRouter> {
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
