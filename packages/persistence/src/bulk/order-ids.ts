/** Waits until no other import or generation of orders is under way; then `orders_id_seq` is this transaction's to move. */
export const LOCK_ORDER_IDS = 'select pg_advisory_xact_lock(8099007544119226982)';

/**
 * Moves the sequence behind the largest id that is taken. Run by a session that draws ids which are taken: another program
 * inserted them. An import under way moves the sequence itself, so nothing is done then. Ids from 2^53 on, which are not
 * exact as JavaScript numbers, are left alone; a sequence that stands among them leaves those alone that are twice as large.
 */
export const SKIP_TAKEN_IDS = `
  with next as materialized (
    select case when is_called then last_value + 1 else last_value end as id from orders_id_seq
  ), free as materialized (
    select id + 1 as id from orders
    where id < (select least(greatest(9007199254740992, 2 * next.id::numeric), 9223372036854775807)::bigint from next)
    order by id desc limit 1
  )
  select case when pg_try_advisory_xact_lock(8099007544119226982) then setval('orders_id_seq', free.id, false) end
  from next, free where free.id > next.id`;
