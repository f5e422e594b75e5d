import type { Clock, OrderBatch, OrderEventLog, OrderRepository, PetRepository, Principal } from '@petstore/domain';
import type { RateLimiter } from '@petstore/rate-limit';

/** The dependencies of procedures, built once at start. */
export interface Services {
  readonly orders: OrderRepository;
  /** Called after each change of an order, whose event was recorded with it: followers need not wait until they look. */
  readonly announceEvents: () => void;
  readonly events: OrderEventLog;
  readonly pets: PetRepository;
  /** Reads the status of a caller. Requests are counted when they are admitted. */
  readonly limiter: Pick<RateLimiter, 'peek'>;
  readonly clock: Clock;
  /** When `pets.get`, the one deprecated operation, ends. */
  readonly petsSunsetAt: Date;
}

/** What a procedure is given: the services, and who called it. */
export interface Context {
  readonly services: Services;
  readonly principal: Principal;
  readonly requestId: string;
  /** How the caller takes a list. */
  readonly delivery: Delivery;
  /** Present if the call is a subscription. */
  readonly subscription?: SubscriptionContext;
}

export interface SubscriptionContext {
  /** Ends the subscription, even while it begins. */
  readonly signal: AbortSignal;
  /** Called before the first event, with the id of the event after which the subscription starts. */
  readonly onBegin: (after: string) => void;
}

type Delivery =
  /** The caller reads batches or text: code in this process, or REST, which limits its responses itself. */
  | { readonly type: 'in-process' }
  /** The caller reads batches over tRPC. */
  | { readonly type: 'batches'; readonly begin: BeginList }
  /** The caller reads one array over tRPC, because its link does not stream. Making its text holds up all others. */
  | { readonly type: 'array'; readonly begin: BeginList };

/**
 * Begins a list over tRPC.
 *
 * @throws ApiError (as a rejection) `too_many_in_flight` if the list is long or an array, and its caller has too many of
 *   them in flight; `overloaded` if all callers together have too many
 */
export type BeginList = (batches: AsyncIterable<OrderBatch>) => Promise<AsyncIterable<OrderBatch>>;
