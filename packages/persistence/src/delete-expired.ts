import { IDEMPOTENCY_KEY_TTL_MS } from '@petstore/domain';
import type { Database } from './database/database.ts';
import { type PreparedStatement, prepareStatement } from './database/statement.ts';

/** Deletes at most a thousand rows, which keeps each deletion short. @returns the number of rows, in one row */
type DeletionStep = PreparedStatement<{ readonly count: bigint }>;

/**
 * The events that remain are consecutive. Nothing is deleted while another process deletes. It begins behind what has been
 * deleted: beside a long snapshot, which keeps the entries of deleted events in the index, it would read those each time.
 *
 * @internal exported for a test
 */
export const DELETE_EVENTS: DeletionStep = prepareStatement(
  'delete-expired-order-events',
  `with turn as materialized (select through_id from order_events_deleted for update skip locked),
     oldest as materialized (
       select event.id, event.at from turn cross join lateral (
         select id, at from order_events where order_events.id > turn.through_id order by order_events.id limit 1000
       ) as event
     ), kept as (select min(id) as id from oldest where at >= $1),
     deleted as (
       delete from order_events
       where id = any (array(select oldest.id from oldest, kept where kept.id is null or oldest.id < kept.id))
       returning id, at
     ), latest as (
       select id, at from deleted order by id desc limit 1
     ), noted as (
       update order_events_deleted set through_id = latest.id, through_at = latest.at from latest
       where latest.id > through_id
     )
   select count(*) from deleted`,
);

/**
 * Events that were committed after later ones had been deleted: an import draws ids long before it commits. Any id may be
 * late, so beside a long snapshot this reads all events that were deleted since, 20 blocks for a thousand, each time.
 *
 * @internal exported for a test
 */
export const DELETE_LATE_EVENTS: DeletionStep = prepareStatement(
  'delete-late-order-events',
  `with deleted as (
     delete from order_events where id = any (array(
       select id from order_events
       where id <= (select through_id from order_events_deleted) and at < $1
       order by id limit 1000
     ))
     returning 1
   )
   select count(*) from deleted`,
);

const FIND_OLDEST_EVENT = prepareStatement<{ readonly at: Date }>(
  'find-oldest-order-event',
  `select at from order_events where id > (select through_id from order_events_deleted) order by id limit 1`,
);

/** @returns the time of the oldest event that can be read; `undefined` if there is none */
export async function findOldestEvent(database: Database): Promise<Date | undefined> {
  const [row] = await database.run('requests', FIND_OLDEST_EVENT, []);
  return row?.at;
}

const DELETE_IDEMPOTENCY_KEYS: DeletionStep = prepareStatement(
  'delete-expired-idempotency-keys',
  `with expired as (
     select actor, idempotency_key from idempotency_keys where remembered_at <= $1
     order by remembered_at limit 1000 for update skip locked
   ), deleted as (
     delete from idempotency_keys using expired
     where idempotency_keys.actor = expired.actor and idempotency_keys.idempotency_key = expired.idempotency_key
     returning 1
   )
   select count(*) from deleted`,
);

type ExpiringRows = 'idempotency keys' | 'late events' | 'events';

export interface ExpiryOptions {
  /** Events before this moment have expired. */
  readonly eventsBefore: Date;
  /** The present time, which determines the idempotency keys that have expired. */
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Called for each kind of rows that cannot be deleted; the others are deleted all the same. @default throws the error */
  readonly onError?: (rows: ExpiringRows, error: unknown) => void;
}

/**
 * Deletes the oldest events, up to the first that has not expired, and expired idempotency keys. If another process is
 * deleting, no event is deleted, and this does not wait for it.
 *
 * @returns the number of events that were deleted
 * @throws the signal's reason
 */
export async function deleteExpired(
  database: Database,
  { eventsBefore, now, signal, onError = rethrow }: ExpiryOptions,
): Promise<number> {
  const attempt = async (rows: ExpiringRows, step: DeletionStep, time: string): Promise<number> => {
    try {
      return await deleteThrough(database, step, time, signal);
    } catch (error) {
      signal.throwIfAborted();
      onError(rows, error);
      return 0;
    }
  };
  await attempt('idempotency keys', DELETE_IDEMPOTENCY_KEYS, expiredThrough(now));
  const eventsTime = eventsBefore.toISOString();
  const lateCount = await attempt('late events', DELETE_LATE_EVENTS, eventsTime);
  return lateCount + (await attempt('events', DELETE_EVENTS, eventsTime));
}

function rethrow(_rows: ExpiringRows, error: unknown): never {
  throw error;
}

/** The latest time at which an idempotency key was stored that has now expired, as a parameter. */
export const expiredThrough = (now: Date): string => new Date(now.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString();

async function deleteThrough(
  database: Database,
  step: DeletionStep,
  time: string,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const [row] = await database.run('writes', step, [time]);
    const count = Number(row?.count ?? 0);
    if (count === 0) return total;
    total += count;
  }
}
