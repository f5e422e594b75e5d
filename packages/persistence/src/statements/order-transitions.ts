import { ORDER_TRANSITIONS, type OrderCommand } from '@petstore/domain';
import type { SessionSettings } from '../connections/session.ts';
import { LOCK_WAIT_MS } from './locked-orders.ts';
import { recordEvents } from './order-records.ts';
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
 * `kept` is an order that the statement had locked and did not change all the same: a trigger forbade it, or another
 * transaction changed it a moment before. `seen` is any other that it did not change.
 */
type TransitionOutcome = 'changed' | 'kept' | 'seen';

export type TransitionRow = readonly [outcome: TransitionOutcome, ...OrderRow];

const SEVERAL = 'id = any($1::bigint[])';

/** From arrays that belong to that of the ids. Looking an order's place up costs less than joining a table of them. */
const ofOrder = (parameter: string) => `(${parameter}::text[])[array_position($1::bigint[], id)]`;

/**
 * A command as conditional updates. Each returns each row as changed or, where the condition does not hold, as it was: one
 * round trip for either outcome. What is changed is recorded in the log of events. None waits for an order that is
 * locked: it is returned as it is. Parameters: the id or ids, now, who acts, by which request.
 *
 * `one` and `several` pass over what carries the mark of another transaction (`xmax`), which costs nothing to see, but
 * stays when that has ended. `marked` tries to lock first, which is more work.
 */
function statementsOf(command: OrderCommand) {
  const { from, to, stamp, after, event } = ORDER_TRANSITIONS[command];
  const isAllowed = `status = '${from.status}' and complete = ${from.complete}`;
  const at = `greatest($2, ${COLUMN_OF_FIELD[after]})`;
  const update = `update orders set status = '${to.status}', complete = ${to.complete}, ${COLUMN_OF_FIELD[stamp]} = ${at}`;
  const unmarked = (isWanted: string) =>
    `changed as (${update} where ${isWanted} and ${isAllowed} and xmax = 0 returning ${ORDER_COLUMNS})`;
  const marked = (isWanted: string) => `
    found as materialized (
      select ctid as place, id as found_id from orders where ${isWanted} and ${isAllowed} for no key update skip locked
    ), changed as (
      ${update} from found where orders.ctid = found.place and orders.id = found.found_id returning ${ORDER_COLUMNS}
    )`;
  const keptOrSeen = `case when id in (select found_id from found) then 'kept' else 'seen' end`;
  const several = { actor: ofOrder('$3'), requestId: ofOrder('$4') };

  const textOf = ({ changed, others, outcome = `'seen'`, origin = several }: Parts) =>
    `with ${changed}, recorded as (
       ${recordEvents('changed', { type: event, at: COLUMN_OF_FIELD[stamp], ...origin })}
     )
     select 'changed', ${ORDER_COLUMNS} from changed
     union all
     select ${outcome}, ${ORDER_COLUMNS} from orders where ${others}`;
  // No row is looked for twice where all of them were changed.
  const otherThanChanged = `${SEVERAL} and (select count(*) from changed) < cardinality($1::bigint[])
    and id not in (select id from changed)`;

  const prepare = (name: string, text: string) => prepareStatement<TransitionRow>(name, text);
  const alone = { others: 'id = $1 and not exists (select from changed)', origin: { actor: '$3', requestId: '$4' } };
  return {
    one: prepare(`${command}-order`, textOf({ changed: unmarked('id = $1'), ...alone })),
    several: prepare(`${command}-orders`, textOf({ changed: unmarked(SEVERAL), others: otherThanChanged })),
    marked: prepare(
      `${command}-marked-orders`,
      textOf({ changed: marked(SEVERAL), others: otherThanChanged, outcome: keptOrSeen }),
    ),
  };
}

/** What the statements of a command differ in. */
interface Parts {
  /** `with` queries, of which `changed` is the orders that it has changed. */
  readonly changed: string;
  /** Which orders are returned besides, and with which outcome. */
  readonly others: string;
  readonly outcome?: string;
  /** Who acts, and by which request: of the order that an event is about. */
  readonly origin?: { readonly actor: string; readonly requestId: string };
}

type Statements = Readonly<Record<'one' | 'several' | 'marked', PreparedStatement<TransitionRow>>>;

export const STATEMENTS = {
  cancel: statementsOf('cancel'),
  ship: statementsOf('ship'),
  complete: statementsOf('complete'),
} satisfies Record<OrderCommand, Statements>;
