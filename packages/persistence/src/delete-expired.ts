import { IDEMPOTENCY_KEY_TTL_MS } from '@petstore/domain';
import type { Database } from './database/database.ts';
import { type PreparedStatement, prepareStatement } from './database/statement.ts';

/** Deletes at most a thousand rows, which keeps each deletion short. @returns the number of rows, in one row */
type DeletionStep = PreparedStatement<{ readonly count: bigint }>;

/** The events that remain are consecutive. Nothing is deleted while another process deletes. */
const DELETE_EVENTS: DeletionStep = prepareStatement(
  'delete-expired-order-events',
  `with turn as materialized (select id from order_events_deleted for update skip locked),
     oldest as materialized (select id, at from order_events order by id limit 1000),
     kept as (select min(id) as id from oldest where at >= $1),
     deleted as (
       delete from order_events
       where id in (select oldest.id from oldest, kept, turn where kept.id is null or oldest.id < kept.id)
       returning id, at
     ), latest as (
       select id, at from deleted order by id desc limit 1
     ), noted as (
       update order_events_deleted set through_id = latest.id, through_at = latest.at from latest
       where latest.id > through_id
     )
   select count(*) from deleted`,
);

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

export interface ExpiryOptions {
  /** Events before this moment have expired. */
  readonly eventsBefore: Date;
  /** The present time, which determines the idempotency keys that have expired. */
  readonly now: Date;
  readonly signal: AbortSignal;
}

/**
 * Deletes the oldest events, up to the first that has not expired, and expired idempotency keys. If another process is
 * deleting, nothing is deleted, and this does not wait for it.
 *
 * @returns the number of events that were deleted
 * @throws the signal's reason
 */
export async function deleteExpired(database: Database, { eventsBefore, now, signal }: ExpiryOptions): Promise<number> {
  await deleteThrough(database, DELETE_IDEMPOTENCY_KEYS, expiredThrough(now), signal);
  return deleteThrough(database, DELETE_EVENTS, eventsBefore.toISOString(), signal);
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
