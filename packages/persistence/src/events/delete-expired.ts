import { IDEMPOTENCY_KEY_TTL_MS } from '@petstore/domain';
import { type PreparedStatement, prepareStatement, type QuerySender } from '../database/statement.ts';

/** Deletes at most 1,000 rows, so that it is short. */
type Deletion = PreparedStatement<readonly [deletedCount: string]>;

/** What remains is the log from a position on. Nothing is deleted while another process deletes. */
const DELETE_EVENTS: Deletion = prepareStatement(
  'delete-expired-order-events',
  `with turn as materialized (select id from order_events_deleted for update skip locked),
     oldest as materialized (select id, at from order_events order by id limit 1000),
     kept as (select min(id) as id from oldest where at >= $1),
     deleted as (
       delete from order_events
       where id in (select oldest.id from oldest, kept, turn where kept.id is null or oldest.id < kept.id)
       returning id
     ), noted as (
       update order_events_deleted set through_id = greatest(through_id, (select max(id) from deleted))
       where exists (select from deleted)
     )
   select count(*) from deleted`,
);

const DELETE_KEYS: Deletion = prepareStatement(
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

/**
 * Deletes the oldest events, as far as they happened before a moment.
 *
 * @returns how many were deleted
 * @throws StorageUnavailableError, and the signal's reason
 */
export const deleteExpiredEvents = (sender: QuerySender, before: Date, signal: AbortSignal): Promise<number> =>
  repeat(() => sender.run(DELETE_EVENTS, [before.toISOString()]), signal);

/** Deletes the idempotency keys that are no longer remembered. Throws likewise. */
export const deleteExpiredKeys = (sender: QuerySender, now: Date, signal: AbortSignal): Promise<number> =>
  repeat(() => sender.run(DELETE_KEYS, [new Date(now.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString()]), signal);

/** Runs a deletion until it finds nothing. */
async function repeat(run: () => Promise<readonly (readonly [string])[]>, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const [row] = await run();
    const count = Number(row?.[0] ?? 0);
    if (count === 0) return total;
    total += count;
  }
}
