import { ORDER_TRANSITIONS, type OrderCommand } from '@petstore/domain';
import type { SessionSettings } from '../connections/session.ts';
import { LOCK_WAIT_MS } from './locked-orders.ts';
import { COLUMN_OF_FIELD, ORDER_COLUMNS, type OrderRow } from './order-rows.ts';
import { type PreparedStatement, prepareStatement } from './pipelined-query.ts';

/**
 * How long a command's statement waits for what is locked apart from orders, as the whole table, in milliseconds. Half of
 * what a command has: the commands of a group that fails are tried one by one.
 */
const LOCK_TIMEOUT_MS = LOCK_WAIT_MS / 2;

/** What the statements of this file rely on: a plan made while the table was small stays good when it has grown. */
export const COMMAND_SESSION: SessionSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  lock_timeout: String(LOCK_TIMEOUT_MS),
};

/**
 * `kept` is an order that the statement had locked and did not change all the same: a trigger forbade it, or somebody
 * else changed it a moment before. `seen` is any other that it did not change.
 */
export type TransitionRow = readonly [outcome: 'changed' | 'kept' | 'seen', ...OrderRow];

const SEVERAL = 'id = any($1::bigint[])';

/**
 * A command as conditional updates. Each returns each row as changed or, where the condition does not hold, as it was: one
 * round trip for either outcome. None waits for an order that is locked: it is returned as it is.
 *
 * `one` and `several` pass over what carries the mark of another transaction (`xmax`), which costs nothing to see, but
 * stays when that has ended. `marked` tries to lock first, which is more work.
 */
function statementsOf(command: OrderCommand) {
  const { from, to, stamp, after } = ORDER_TRANSITIONS[command];
  const isAllowed = `status = '${from.status}' and complete = ${from.complete}`;
  const at = `greatest($2, ${COLUMN_OF_FIELD[after]})`;
  const update = `update orders set status = '${to.status}', complete = ${to.complete}, ${COLUMN_OF_FIELD[stamp]} = ${at}`;
  const unmarked = (isWanted: string) =>
    `changed as (${update} where ${isWanted} and ${isAllowed} and xmax = 0 returning ${ORDER_COLUMNS})`;
  const statement = (name: string, changed: string, others: string, outcome = `'seen'`) =>
    prepareStatement<TransitionRow>(
      name,
      `with ${changed}
       select 'changed', ${ORDER_COLUMNS} from changed
       union all
       select ${outcome}, ${ORDER_COLUMNS} from orders where ${others}`,
    );
  // No row is looked for twice where all of them were changed.
  const otherThanChanged = `${SEVERAL} and (select count(*) from changed) < cardinality($1::bigint[])
    and id not in (select id from changed)`;
  return {
    one: statement(`${command}-order`, unmarked('id = $1'), 'id = $1 and not exists (select from changed)'),
    several: statement(`${command}-orders`, unmarked(SEVERAL), otherThanChanged),
    marked: statement(
      `${command}-marked-orders`,
      `found as materialized (
         select ctid as place, id as found_id from orders where ${SEVERAL} and ${isAllowed} for no key update skip locked
       ), changed as (${update} from found where orders.ctid = found.place and orders.id = found.found_id returning ${ORDER_COLUMNS})`,
      otherThanChanged,
      `case when id in (select found_id from found) then 'kept' else 'seen' end`,
    ),
  };
}

export const STATEMENTS = {
  cancel: statementsOf('cancel'),
  ship: statementsOf('ship'),
  complete: statementsOf('complete'),
} satisfies Record<OrderCommand, Record<'one' | 'several' | 'marked', PreparedStatement<TransitionRow>>>;
