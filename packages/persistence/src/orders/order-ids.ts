/**
 * Moves the sequence of ids beyond the largest id in use. It runs after ids in use were drawn, because another program has
 * inserted orders with them. Ids from 2^53 on, which are not exact as JavaScript numbers, are ignored; a sequence that has
 * already reached such ids ignores those that are twice as large.
 *
 * The parameter is the advisory lock `orderIds`. Returns one row if there is such an id: the new value of the sequence, or
 * null if an import or a generation in progress holds the lock, and moves the sequence itself.
 */
export const SKIP_TAKEN_IDS = `
  with next as materialized (
    select case when is_called then last_value + 1 else last_value end as id from orders_id_seq
  ), free as materialized (
    select id + 1 as id from orders
    where id < (select least(greatest(9007199254740992, 2 * next.id::numeric), 9223372036854775807)::bigint from next)
    order by id desc limit 1
  )
  select case when pg_try_advisory_xact_lock($1::bigint) then setval('orders_id_seq', free.id, false) end as moved_to
  from next, free where free.id > next.id`;
