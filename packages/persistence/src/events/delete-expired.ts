import { keysExpiredAt } from '../statements/order-records.ts';
import {
  type PreparedStatement,
  prepareStatement,
  type QuerySender,
  runStatement,
} from '../statements/pipelined-query.ts';

/** How many rows each statement deletes at most, so that it is short. */
const STEP = 1_000;

type Deletion = PreparedStatement<readonly [deletedCount: string]>;

/**
 * The oldest events, as far as they happened before a moment: what remains is the log from a position on. Nothing is
 * deleted while another process deletes.
 */
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

interface Expiry {
  /** Until when events happened that have expired. */
  readonly before: Date;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** @returns how many events were deleted */
export async function deleteExpired(sender: QuerySender, { before, now, signal }: Expiry): Promise<number> {
  const deleteAll = async (statement: Deletion, expiredAt: string): Promise<number> => {
    let total = 0;
    for (;;) {
      signal.throwIfAborted();
      const [[count = '0'] = []] = await runStatement(sender, statement, [expiredAt]);
      total += Number(count);
      if (Number(count) < STEP) return total;
    }
  };
  await deleteAll(DELETE_KEYS, keysExpiredAt(now));
  return deleteAll(DELETE_EVENTS, before.toISOString());
}
