import type { Clock, OrderEventLog, OrderRepository, PetRepository, Principal } from '@petstore/domain';
import type { RateLimiter, RateLimitSnapshot } from '@petstore/rate-limit';
import type { SunsetOverrides } from './rest/sunset.ts';

/** What procedures work with, the same for every call: built once at start. */
export interface Services {
  readonly orders: OrderRepository;
  readonly events: OrderEventLog;
  readonly pets: PetRepository;
  /** Reads the status of a caller; requests are counted on admission. */
  readonly limiter: Pick<RateLimiter, 'peek'>;
  readonly clock: Clock;
  /** @default what the operations' contracts say */
  readonly sunsetOverrides?: SunsetOverrides;
}

/** What a procedure is given: the services, and on whose behalf it runs. */
export interface Context {
  readonly services: Services;
  readonly principal: Principal;
  readonly requestId: string;
  /** The limits of the caller as read on admission, if they were: they need not be read again. */
  readonly rateLimit?: RateLimitSnapshot;
  /** How the caller takes a list. */
  readonly delivery: Delivery;
  /** Of a subscription, if the call is one. */
  readonly subscription?: SubscriptionContext;
}

export interface SubscriptionContext {
  /** Ends it, also while it begins. */
  readonly signal: AbortSignal;
  /** Called before the first event with the id of the event after which the subscription starts. */
  readonly onBegin: (after: string) => void;
}

type Delivery =
  /** As batches or as text, whichever it reads: a caller in this process, or REST, which bounds what it sends by itself. */
  | { readonly type: 'in-process' }
  /** Over tRPC, in batches as they are read. */
  | { readonly type: 'batches'; readonly begin: BeginList }
  /** Over tRPC, as one array: the caller does not stream. */
  | { readonly type: 'array'; readonly begin: BeginList };

/**
 * Begins a list over tRPC.
 *
 * @throws ApiError (as a rejection) `rate_limit_exceeded` if the list is long, and its caller has too many in flight;
 *   `overloaded` if all callers together have
 */
export type BeginList = <Batch>(batches: AsyncIterable<Batch>) => Promise<AsyncIterable<Batch>>;
