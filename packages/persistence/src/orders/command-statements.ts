import type { OrderCommand } from '@petstore/domain';
import { type PreparedStatement, prepareStatement } from '../database/statement.ts';
import type { OrderRow } from './order-rows.ts';

/** Whether the command was applied, and the order afterwards, or as the statement found it. */
export type CommandRow = readonly [applied: 't' | 'f', ...OrderRow];

// One statement for each command, for any number of orders: the decision of `decideOrder`, as a condition in SQL. A test
// compares the two.
//
// The parameters are arrays with an element for each order: ids, times, actors, ids of requests.
//
// `free` locks the orders that the command applies to, and skips those that another transaction has locked. No statement
// waits for a lock, so nobody waits for somebody else's order, and no two statements can block each other.
// Arrays are read by an order's position, which is cheaper than a join with them, and leaves the planner no choice.

const CANCEL = `
  with free as (
    select id from orders
    where id = any ($1::bigint[]) and status = 'pending' and not complete
    for no key update skip locked
  ), changed as (
    update orders set
      status = 'cancelled',
      cancelled_at = greatest(($2::timestamptz[])[array_position($1::bigint[], id)], placed_at)
    where id = any (array(select id from free))
    returning *
  ), recorded as (
    insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at)
    select 'order.cancelled', cancelled_at, ($3::text[])[array_position($1::bigint[], id)],
      ($4::text[])[array_position($1::bigint[], id)], id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at
    from changed
  )
  select true, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from changed
  union all
  select false, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from orders
  where (select count(*) from changed) < cardinality($1::bigint[])
    and id = any ($1::bigint[]) and id not in (select id from changed)`;

const SHIP = `
  with free as (
    select id from orders
    where id = any ($1::bigint[]) and status = 'pending' and not complete
    for no key update skip locked
  ), changed as (
    update orders set
      status = 'shipped',
      shipped_at = greatest(($2::timestamptz[])[array_position($1::bigint[], id)], placed_at)
    where id = any (array(select id from free))
    returning *
  ), recorded as (
    insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at)
    select 'order.shipped', shipped_at, ($3::text[])[array_position($1::bigint[], id)],
      ($4::text[])[array_position($1::bigint[], id)], id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at
    from changed
  )
  select true, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from changed
  union all
  select false, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from orders
  where (select count(*) from changed) < cardinality($1::bigint[])
    and id = any ($1::bigint[]) and id not in (select id from changed)`;

const COMPLETE = `
  with free as (
    select id from orders
    where id = any ($1::bigint[]) and status = 'shipped' and not complete
    for no key update skip locked
  ), changed as (
    update orders set
      complete = true,
      completed_at = greatest(($2::timestamptz[])[array_position($1::bigint[], id)], shipped_at)
    where id = any (array(select id from free))
    returning *
  ), recorded as (
    insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at)
    select 'order.completed', completed_at, ($3::text[])[array_position($1::bigint[], id)],
      ($4::text[])[array_position($1::bigint[], id)], id, pet_id, quantity, ship_date, status, complete,
      placed_at, shipped_at, completed_at, cancelled_at
    from changed
  )
  select true, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from changed
  union all
  select false, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from orders
  where (select count(*) from changed) < cardinality($1::bigint[])
    and id = any ($1::bigint[]) and id not in (select id from changed)`;

export const COMMAND_STATEMENTS = {
  cancel: prepareStatement<CommandRow>('cancel-orders', CANCEL),
  ship: prepareStatement<CommandRow>('ship-orders', SHIP),
  complete: prepareStatement<CommandRow>('complete-orders', COMPLETE),
} satisfies Record<OrderCommand, PreparedStatement<CommandRow>>;
