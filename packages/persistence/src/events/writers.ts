import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderEvent } from '@petstore/domain';
import { prepareStatement } from '../database/statement.ts';
import type { RunOnLog } from './read-events.ts';

// Ids are drawn before they are committed, so an event may appear after one with a larger id. If an id is missing, a reader
// waits for the end of all transactions that were writing events when the gap was seen: an id that is then missing was never
// committed. A snapshot (`pg_snapshot_xmin`) would not show this, because an id is drawn before its transaction has a number.
// It would also make readers wait for transactions that write no events.

/**
 * The locks of the transactions that write events. A transaction takes its lock before it draws an id and changes an order
 * that others can see, and holds it until it commits or rolls back.
 */
const FIND_WRITERS = prepareStatement<{ readonly virtualtransaction: string }>(
  'find-order-event-writers',
  `select virtualtransaction from pg_locks
   where relation = 'order_events'::regclass and mode = 'RowExclusiveLock' and granted
     and database = (select oid from pg_database where datname = current_database())`,
);

/**
 * How often to check whether the transactions that write events have ended, in milliseconds. Most end at once. Reading locks
 * costs the server something, so the pause grows with the wait, an eighth of it, which delays events by no more than that.
 */
const POLL_MIN_MS = 5;
const POLL_MAX_MS = 250;
const POLL_SHARE = 1 / 8;

/** The number of events before the first id that is missing after a position; all of them if none is. */
export function countBeforeGap(events: readonly OrderEvent[], after: bigint): number {
  const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index) + 1n);
  return gap === -1 ? events.length : gap;
}

/**
 * Waits for the transactions that write events now, but not for later ones.
 *
 * @throws AbortError
 */
export async function waitForWriters(run: RunOnLog, signal: AbortSignal): Promise<void> {
  const findWriters = async () => (await run(FIND_WRITERS, [])).map((row) => row.virtualtransaction);
  const beganMs = performance.now();
  for (let writers = await findWriters(); writers.length > 0; ) {
    const pauseMs = Math.max(POLL_MIN_MS, (performance.now() - beganMs) * POLL_SHARE);
    await sleep(Math.min(pauseMs, POLL_MAX_MS), undefined, { signal });
    const current = new Set(await findWriters());
    writers = writers.filter((writer) => current.has(writer));
  }
}
