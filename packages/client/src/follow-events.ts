import type { Connection } from './connection.ts';
import { PetstoreError } from './errors.ts';
import { checkCallOptions } from './options.ts';
import { pause } from './transport/clock.ts';
import { type ReportedLimits, readLimits } from './transport/reported-limits.ts';
import { FOR_EVER, retryDelayMs } from './transport/retries.ts';
import type { ServiceResponse } from './transport/service-response.ts';

export interface FollowEventsOptions {
  /** The `id` of the event after which to begin; `'0'` is the beginning of the kept events. @default from now on */
  readonly after?: string | undefined;
  /** Called once, before the first event, with the position at which it begins: later events are never missed. */
  readonly onBegin?: ((position: string) => void) | undefined;
  /**
   * Called before each wait after a failure: the service cannot be reached, or refuses. Following resumes after `delayMs`
   * milliseconds or, if the pace asks for it, later.
   */
  readonly onWaiting?: ((failure: PetstoreError, delayMs: number) => void) | undefined;
  /** Ends the iteration, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Some events, and the position behind them. */
export interface EventsPage<Event> {
  readonly events: readonly Event[];
  readonly nextAfter: string;
}

/** How events are asked for over one transport. */
export interface EventsRequest<Event> {
  /** The URL that asks for the events behind a position; `undefined` is the present one. */
  readonly urlOf: (after: string | undefined, limit: number, waitSeconds: number) => string;
  /** @throws PetstoreError if the response is no page of events */
  readonly read: (response: ServiceResponse) => EventsPage<Event>;
}

/** The most events in a response: fewer requests are needed for many. */
const LIMIT = 1_000;
/** The longest wait that the service grants. */
const WAIT_SECONDS = 50;
/** How much longer than its wait a call may take. */
const GRACE_MS = 10_000;
const INTERVAL_MIN_MS = 1_000;
const DAY_MS = 86_400_000;
/** The share of the key's day that following may use. */
const SHARE = 1 / 2;

/** @throws TypeError if an option is not valid */
export function checkFollowOptions({ after, signal }: FollowEventsOptions): void {
  checkCallOptions({ signal });
  if (after !== undefined && typeof after !== 'string')
    throw new TypeError('after must be the id of an event, a string');
}

/**
 * Follows the changes of orders, in order and without gaps. It continues until its reader leaves the loop, and takes no
 * place in the gate of other calls: it has one call at a time, and waits for as long as the service asks.
 *
 * @throws PetstoreError if trying again would not help; the signal's reason if it aborts
 */
export async function* followEvents<Event>(
  { clock, random, send }: Connection,
  { urlOf, read }: EventsRequest<Event>,
  { after, onBegin, onWaiting, signal }: FollowEventsOptions,
): AsyncGenerator<Event, void, undefined> {
  let position = after;
  let begin = onBegin;
  let intervalMs = INTERVAL_MIN_MS;
  let failures = 0;
  for (;;) {
    const beganMs = clock.now();
    // Without a position there would be no way to resume after a failure, so the first call does not wait.
    const waitSeconds = position === undefined ? 0 : WAIT_SECONDS;
    let page: EventsPage<Event> | undefined;
    try {
      const response = await send({
        method: 'GET',
        url: urlOf(position, LIMIT, waitSeconds),
        headers: { accept: 'application/json' },
        signal,
        timeoutMs: waitSeconds === 0 ? undefined : waitSeconds * 1_000 + GRACE_MS,
        isAlone: true,
      });
      intervalMs = intervalOf(readLimits(response.headers)) ?? intervalMs;
      page = read(response);
    } catch (failure) {
      signal?.throwIfAborted();
      if (!(failure instanceof PetstoreError)) throw failure;
      const delayMs = retryDelayMs(failure, ++failures, FOR_EVER, random());
      if (delayMs === undefined) throw failure;
      onWaiting?.(failure, delayMs);
      await pause(clock, delayMs, signal);
    }
    if (page !== undefined) {
      failures = 0;
      begin?.(position ?? page.nextAfter);
      begin = undefined;
      for (const event of page.events) {
        yield event;
        signal?.throwIfAborted(); // events that have arrived are then dropped
      }
      position = page.nextAfter;
    }
    const restMs = beganMs + intervalMs - clock.now();
    if (restMs > 0) await pause(clock, restMs, signal);
  }
}

/** How far apart calls begin, in milliseconds; `undefined` if no limit was told. */
function intervalOf(limits: ReportedLimits | undefined): number | undefined {
  if (limits?.day === undefined) return undefined;
  // A day may hold one call more than intervals.
  const intervalsPerDay = Math.max(1, limits.day.limit * SHARE - 1);
  return Math.max(INTERVAL_MIN_MS, Math.ceil(DAY_MS / intervalsPerDay));
}
