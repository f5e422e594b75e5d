import {
  decideOrder,
  ORDER_TRANSITIONS,
  type OrderCommand,
  type OrderId,
  type OrderTransition,
} from '@petstore/domain';
import { isRolledBack } from '../storage-error.ts';
import { COLUMN_OF_FIELD, ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import { type PreparedStatement, prepareStatement, type QuerySender, runStatement } from './pipelined-query.ts';

/** How long a command waits for an order that another transaction holds locked, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/**
 * What the statements of {@link OrderCommands} rely on: rows are found, and locked, in the order of their ids, so that
 * two statements with several orders in common never deadlock; and a plan made while the table was small stays good when
 * it has grown.
 */
export const COMMAND_SESSION = `-c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan -c jit=off -c lock_timeout=${LOCK_TIMEOUT_MS}`;

type TransitionRow = readonly [applied: 't' | 'f', ...OrderRow];

/**
 * A command as one conditional update. Returns each row as changed or, where the condition does not hold, as it was: one
 * round trip for either outcome.
 */
function transitionStatement(command: OrderCommand, name: string, isWanted: string) {
  const { from, to, stamp } = ORDER_TRANSITIONS[command];
  return prepareStatement<TransitionRow>(
    name,
    `with changed as (
       update orders set status = '${to.status}', complete = ${to.complete}, ${COLUMN_OF_FIELD[stamp]} = $2
       where ${isWanted} and status = '${from.status}' and complete = ${from.complete}
       returning ${ORDER_COLUMNS}
     )
     select true, ${ORDER_COLUMNS} from changed
     union all
     select false, ${ORDER_COLUMNS} from orders where ${isWanted} and id not in (select id from changed)`,
  );
}

const statementsOf = (command: OrderCommand) => ({
  one: transitionStatement(command, `${command}-order`, 'id = $1'),
  several: transitionStatement(command, `${command}-orders`, 'id = any($1::bigint[])'),
});

const STATEMENTS = {
  cancel: statementsOf('cancel'),
  ship: statementsOf('ship'),
  complete: statementsOf('complete'),
} satisfies Record<OrderCommand, { one: PreparedStatement<TransitionRow>; several: PreparedStatement<TransitionRow> }>;

/** A larger statement would keep its rows locked for longer than a millisecond or two. */
const BATCH_MAX = 64;

interface Entry {
  readonly resolve: (transition: OrderTransition) => void;
  readonly reject: (error: unknown) => void;
}

/** A command that waits until the one before it, for the same order, is done. */
interface QueuedCommand extends Entry {
  readonly command: OrderCommand;
  readonly now: Date;
}

/** One command at one moment, for any number of orders. */
interface Batch {
  readonly command: OrderCommand;
  readonly now: Date;
  readonly entries: Map<OrderId, Entry>;
}

/**
 * Cancels, ships and completes orders. Commands of one tick share a statement, which commits once: under load that is a
 * third of the work. Each order has an outcome of its own all the same.
 *
 * Of the commands for one order only one is in flight at a time. Equal ones that were given meanwhile share the next
 * statement, and at most one of them is applied. So an order that many callers want costs little, and one that another
 * transaction holds locked occupies one connection.
 */
export class OrderCommands {
  readonly #writes: QuerySender;
  readonly #flush = (): void => this.#sendAll();
  /** By the orders for which a command is in flight. */
  readonly #queues = new Map<OrderId, QueuedCommand[]>();
  #batches: Batch[] = [];

  constructor(writes: QuerySender) {
    this.#writes = writes;
  }

  readonly apply = (id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition> =>
    new Promise((resolve, reject) => {
      const queued: QueuedCommand = { command, now, resolve, reject };
      const queue = this.#queues.get(id);
      if (queue !== undefined) {
        queue.push(queued);
        return;
      }
      this.#queues.set(id, []);
      this.#begin(id, queued, []);
    });

  /** @param others equal commands, which cannot be applied after the first one */
  #begin(id: OrderId, first: QueuedCommand, others: readonly QueuedCommand[]): void {
    this.#enqueue(id, first.command, first.now, {
      resolve: (transition) => {
        this.#beginNext(id);
        first.resolve(transition);
        for (const other of others) other.resolve({ applied: false, order: transition.order });
      },
      reject: (error) => {
        // A failed command rejects all queued ones: they would wait for the same lock.
        const all = [first, ...others, ...(this.#queues.get(id) ?? [])];
        this.#queues.delete(id);
        for (const { reject } of all) reject(error);
      },
    });
  }

  #beginNext(id: OrderId): void {
    const [first, ...others] = this.#queues.get(id) ?? [];
    if (first === undefined) {
      this.#queues.delete(id);
      return;
    }
    const isEqual = ({ command }: QueuedCommand) => command === first.command;
    this.#queues.set(
      id,
      others.filter((other) => !isEqual(other)),
    );
    this.#begin(id, first, others.filter(isEqual));
  }

  #enqueue(id: OrderId, command: OrderCommand, now: Date, entry: Entry): void {
    // Runs once all that the event loop has at hand was read.
    if (this.#batches.length === 0) setImmediate(this.#flush);
    this.#batchFor(command, now).entries.set(id, entry);
  }

  #batchFor(command: OrderCommand, now: Date): Batch {
    const open = this.#batches.find(
      (batch) => batch.command === command && batch.now.getTime() === now.getTime() && batch.entries.size < BATCH_MAX,
    );
    if (open !== undefined) return open;
    const batch: Batch = { command, now, entries: new Map() };
    this.#batches.push(batch);
    return batch;
  }

  #sendAll(): void {
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) {
      if (batch.entries.size === 1) this.#applyEach(batch);
      else void this.#applyTogether(batch).catch((error: unknown) => rejectAll(batch, error));
    }
  }

  async #applyTogether(batch: Batch): Promise<void> {
    const { command, now, entries } = batch;
    const values = [`{${Array.from(entries.keys()).join()}}`, now.toISOString()];
    let rows: readonly TransitionRow[];
    try {
      rows = await runStatement(this.#writes, STATEMENTS[command].several, values);
    } catch (error) {
      // One order that is locked for long must not fail the others.
      if (isRolledBack(error)) return this.#applyEach(batch);
      throw error;
    }
    const again = new Map<OrderId, Entry>();
    for (const { id, transition } of rows.map((row) => readTransition(row, command, now))) {
      const entry = entries.get(id);
      entries.delete(id);
      if (entry === undefined) continue;
      if (transition === undefined) again.set(id, entry);
      else entry.resolve(transition);
    }
    for (const { resolve } of entries.values()) resolve({ applied: false, order: undefined });
    this.#applyEach({ command, now, entries: again });
  }

  #applyEach({ command, now, entries }: Batch): void {
    for (const [id, { resolve, reject }] of entries) this.#applyOne(id, command, now).then(resolve, reject);
  }

  async #applyOne(id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition> {
    const values = [id.toString(), now.toISOString()];
    for (;;) {
      const [row] = await runStatement(this.#writes, STATEMENTS[command].one, values);
      if (row === undefined) return { applied: false, order: undefined };
      const { transition } = readTransition(row, command, now);
      if (transition !== undefined) return transition; // else look again; no state is entered twice, so this ends
    }
  }
}

function rejectAll({ entries }: Batch, error: unknown): void {
  for (const { reject } of entries.values()) reject(error);
}

/**
 * The outcome that a row shows. It shows none where the statement found it locked and, after the wait, changed: then it is
 * as it was when the statement began, and the command still seems to apply.
 */
function readTransition([applied, ...row]: TransitionRow, command: OrderCommand, now: Date) {
  const order = orderOfRow(row);
  const isOvertaken = applied === 'f' && decideOrder(order, command, now).ok;
  const transition: OrderTransition | undefined = isOvertaken ? undefined : { applied: applied === 't', order };
  return { id: order.id, transition };
}
