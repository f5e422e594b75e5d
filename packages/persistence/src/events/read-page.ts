import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  INT64_MAX,
  type OrderEvent,
  type OrderEventId,
  type OrderEventPage,
} from '@petstore/domain';
import { storageUnavailable } from '../database/errors.ts';
import { TIMEOUTS_MS } from '../database/timeouts.ts';
import { assertWithin, findLogBounds, type RunOnLog, readRange } from './read-events.ts';
import { countBeforeGap, waitForWriters } from './writers.ts';

/**
 * Reads a page of the log for somebody who polls, with no state between two pages. No event can appear later before its
 * `nextAfter`. While a transaction that may commit one stays open, the page ends before it.
 *
 * @throws DomainError, StorageUnavailableError
 */
export async function readEventPage(run: RunOnLog, after: EventPosition, limit: number): Promise<OrderEventPage> {
  if (after === 'now') return { events: [], nextAfter: await findEnd(run) };
  const { events, begin } = await readBehind(run, after, INT64_MAX, limit);
  const count = countBeforeGap(events, begin);
  const last = events.at(-1);
  if (last === undefined || count === events.length) return pageOf(events, begin);
  if (!(await haveWritersEnded(run))) return pageOf(events.slice(0, count), begin);
  // What those writers have committed is now among the events up to the last one.
  const whole = await readBehind(run, after, last.id, limit);
  return pageOf(whole.events, whole.begin);
}

/** Reads committed events, and the position that precedes the first of them. */
async function readBehind(run: RunOnLog, after: OrderEventId, upTo: bigint, limit: number) {
  const { events, ...bounds } = await readRange(run, { after, upTo, limit });
  const begin = after === BEGINNING_OF_EVENTS ? bounds.deletedThrough : after;
  assertWithin(bounds, begin);
  return { events, begin };
}

const pageOf = (events: readonly OrderEvent[], begin: OrderEventId): OrderEventPage => ({
  events,
  nextAfter: events.at(-1)?.id ?? begin,
});

/** The latest event, once no event before it can appear any more. */
async function findEnd(run: RunOnLog): Promise<OrderEventId> {
  const { latest } = await findLogBounds(run);
  if (!(await haveWritersEnded(run))) throw storageUnavailable('a transaction that records events is open');
  return latest;
}

/** Whether the transactions that write events now end within the time that a page waits for them. */
async function haveWritersEnded(run: RunOnLog): Promise<boolean> {
  const signal = AbortSignal.timeout(TIMEOUTS_MS.pageOfEvents);
  try {
    await waitForWriters(run, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
