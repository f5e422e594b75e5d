import type { Clock, OrderRepository, PetRepository, Principal } from '@petstore/domain';
import type { RateLimiter, RateLimitSnapshot } from '@petstore/rate-limit';
import type { SunsetOverrides } from './rest/sunset.ts';

/** What procedures work with, the same for every call: built once at start. */
export interface Services {
  readonly orders: OrderRepository;
  readonly pets: PetRepository;
  /** Tells callers where they stand; counting is the business of whoever admits requests. */
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
  /** Where the caller stood when the request was let in, if that was looked at: it need not be looked at again. */
  readonly standing?: RateLimitSnapshot;
  /**
   * Begins a list whose answer is streamed. Left out where nothing is streamed by this context, or nobody counts.
   *
   * @throws ApiError (as a rejection) `rate_limit_exceeded` where the list is long, and its caller has too many under way
   */
  readonly beginList?: <Batch>(batches: AsyncIterable<Batch>) => Promise<AsyncIterable<Batch>>;
  /** Whether the caller reads long lists packed, as `acceptsPackedOrders` finds in its request. @default false */
  readonly acceptsPackedOrders?: boolean;
}
