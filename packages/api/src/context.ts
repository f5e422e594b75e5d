import type { Clock, OrderBatch, OrderEventLog, OrderRepository, PetRepository, Principal } from '@petstore/domain';
import type { RateLimiter } from '@petstore/rate-limit';

/** The dependencies of procedures, built once at start. */
export interface Services {
  readonly orders: OrderRepository;
  /** Called after each change of an order, whose event was recorded with it: whoever waits for it is told at once. */
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
  /** Aborted when the response has ended, or its caller has left: nobody waits for a result any more. */
  readonly signal: AbortSignal;
  /** How the caller takes a list. */
  readonly delivery: Delivery;
  /** How the call may wait for something; absent if it may not, like one in a batch of several calls. */
  readonly wait?: Wait | undefined;
}

/**
 * Waits, if there is room for one more call that waits.
 *
 * @param durationMs how long at most
 * @param work waits until its signal is aborted: the time is over, the caller has left, or the server stops
 * @returns the result of the work; `undefined`, with nothing done, if there is no room
 * @throws ApiError `invalid_api_key` if the key has become invalid meanwhile; what the work throws
 */
export type Wait = <Value>(
  durationMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
) => Promise<Value | undefined>;

type Delivery =
  /** The caller reads batches or text: code in this process, or REST, which limits its responses itself. */
  | { readonly type: 'in-process' }
  /** The caller reads batches over tRPC. */
  | { readonly type: 'batches'; readonly begin: BeginList }
  /** The caller reads one array over tRPC, because its link does not stream. Making its text holds up all others. */
  | { readonly type: 'array'; readonly takeTurn: TakeTurn };

/**
 * Begins a list over tRPC.
 *
 * @throws ApiError (as a rejection) `too_many_in_flight` if the list is long, and its caller has too many of them in flight;
 *   `overloaded` if all callers together have too many
 */
export type BeginList = (batches: AsyncIterable<OrderBatch>) => Promise<AsyncIterable<OrderBatch>>;

/**
 * Waits until no other list of the caller is being made.
 *
 * @param read makes the list; it is given how many orders the lists before it hold in the same response
 * @throws what `read` throws, and an error that nobody sees if the caller has left
 */
export type TakeTurn = <List extends readonly unknown[]>(read: (held: number) => Promise<List>) => Promise<List>;
