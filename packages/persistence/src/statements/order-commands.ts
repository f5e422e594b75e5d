import { decideOrder, type OrderCommand, type OrderId, type OrderTransition } from '@petstore/domain';
import { isRolledBack } from '../storage-error.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import { type PreparedStatement, prepareStatement, type QuerySender, runStatement } from './pipelined-query.ts';

/** How long a command waits for an order that somebody else holds locked, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/**
 * What the statements of {@link OrderCommands} count on: rows are found, and locked, in the order of their ids, so that
 * two statements with several orders in common never wait for each other in a circle; and a plan made while the table
 * was small stays good when it has grown.
 */
export const COMMAND_SESSION = `-c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan -c jit=off -c lock_timeout=${LOCK_TIMEOUT_MS}`;

/**
 * What each command does to a row, and to which rows: `decideOrder` in SQL. A test holds every state against every
 * command, so that the two cannot drift apart.
 */
const TRANSITIONS = {
  cancel: { set: `status = 'cancelled', cancelled_at = $2`, where: `status = 'pending'` },
  ship: { set: `status = 'shipped', shipped_at = $2`, where: `status = 'pending'` },
  complete: { set: `complete = true, completed_at = $2`, where: `status = 'shipped' and not complete` },
} as const satisfies Record<OrderCommand, { set: string; where: string }>;

type TransitionRow = readonly [applied: 't' | 'f', ...OrderRow];

/** Gives each row as changed or, where the condition does not hold, as it was: one round trip for either outcome. */
const transitionStatement = (command: OrderCommand, name: string, isWanted: string) =>
  prepareStatement<TransitionRow>(
    name,
    `with changed as (
       update orders set ${TRANSITIONS[command].set} where ${isWanted} and ${TRANSITIONS[command].where}
       returning ${ORDER_COLUMNS}
     )
     select true, ${ORDER_COLUMNS} from changed
     union all
     select false, ${ORDER_COLUMNS} from orders where ${isWanted} and id not in (select id from changed)`,
  );

const statementsOf = (command: OrderCommand) => ({
  one: transitionStatement(command, `${command}-order`, 'id = $1'),
  several: transitionStatement(command, `${command}-orders`, 'id = any($1::bigint[])'),
});

const STATEMENTS = {
  cancel: statementsOf('cancel'),
  ship: statementsOf('ship'),
  complete: statementsOf('complete'),
} satisfies Record<OrderCommand, { one: PreparedStatement<TransitionRow>; several: PreparedStatement<TransitionRow> }>;

/** More would keep their rows locked for longer than a millisecond or two. */
const GROUP_MAX = 64;

interface Caller {
  readonly resolve: (transition: OrderTransition) => void;
  readonly reject: (error: unknown) => void;
}

/** A caller whose order has a command under way. */
interface Waiter extends Caller {
  readonly command: OrderCommand;
  readonly now: Date;
}

/** One command at one moment, for any number of orders. */
interface Group {
  readonly command: OrderCommand;
  readonly now: Date;
  readonly callers: Map<OrderId, Caller>;
}

/**
 * Cancels, ships and completes orders. What is asked for at the same moment goes as one statement, which commits once:
 * under load that is a third of the work. Each order's outcome is its own all the same.
 *
 * Of the commands for one order only one is under way at a time, and those that were given meanwhile are the next: one
 * statement tells them all, and exactly one of them may find what it wants. So an order that everybody wants costs little,
 * and one that somebody holds locked occupies one connection.
 */
export class OrderCommands {
  readonly #writes: QuerySender;
  readonly #flush = (): void => this.#sendAll();
  /** By the orders for which a command is under way. */
  readonly #waiters = new Map<OrderId, Waiter[]>();
  #groups: Group[] = [];

  constructor(writes: QuerySender) {
    this.#writes = writes;
  }

  readonly apply = (id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition> =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = { command, now, resolve, reject };
      const waiters = this.#waiters.get(id);
      if (waiters !== undefined) {
        waiters.push(waiter);
        return;
      }
      this.#waiters.set(id, []);
      this.#begin(id, waiter, []);
    });

  /** @param others who want the same, and whom the outcome tells that they cannot have it */
  #begin(id: OrderId, first: Waiter, others: readonly Waiter[]): void {
    this.#enqueue(id, first.command, first.now, {
      resolve: (transition) => {
        this.#beginNext(id);
        first.resolve(transition);
        for (const other of others) other.resolve({ applied: false, order: transition.order });
      },
      reject: (error) => {
        // What one has waited for in vain nobody else need wait for.
        const all = [first, ...others, ...(this.#waiters.get(id) ?? [])];
        this.#waiters.delete(id);
        for (const { reject } of all) reject(error);
      },
    });
  }

  #beginNext(id: OrderId): void {
    const [first, ...others] = this.#waiters.get(id) ?? [];
    if (first === undefined) {
      this.#waiters.delete(id);
      return;
    }
    const wantsTheSame = ({ command }: Waiter) => command === first.command;
    this.#waiters.set(
      id,
      others.filter((other) => !wantsTheSame(other)),
    );
    this.#begin(id, first, others.filter(wantsTheSame));
  }

  #enqueue(id: OrderId, command: OrderCommand, now: Date, caller: Caller): void {
    // Once all that the event loop has at hand was read.
    if (this.#groups.length === 0) setImmediate(this.#flush);
    this.#groupFor(command, now).callers.set(id, caller);
  }

  #groupFor(command: OrderCommand, now: Date): Group {
    const known = this.#groups.find(
      (group) => group.command === command && group.now.getTime() === now.getTime() && group.callers.size < GROUP_MAX,
    );
    if (known !== undefined) return known;
    const group: Group = { command, now, callers: new Map() };
    this.#groups.push(group);
    return group;
  }

  #sendAll(): void {
    const groups = this.#groups;
    this.#groups = [];
    for (const group of groups) {
      if (group.callers.size === 1) this.#applyEach(group);
      else void this.#applyTogether(group).catch((error: unknown) => rejectAll(group, error));
    }
  }

  async #applyTogether(group: Group): Promise<void> {
    const { command, now, callers } = group;
    const values = [`{${Array.from(callers.keys()).join()}}`, now.toISOString()];
    let rows: readonly TransitionRow[];
    try {
      rows = await runStatement(this.#writes, STATEMENTS[command].several, values);
    } catch (error) {
      // One order that could not be had, locked by somebody for long, must not fail the others.
      if (isRolledBack(error)) return this.#applyEach(group);
      throw error;
    }
    const again = new Map<OrderId, Caller>();
    for (const { id, transition } of rows.map((row) => readTransition(row, command, now))) {
      const caller = callers.get(id);
      callers.delete(id);
      if (caller === undefined) continue;
      if (transition === undefined) again.set(id, caller);
      else caller.resolve(transition);
    }
    for (const { resolve } of callers.values()) resolve({ applied: false, order: undefined });
    this.#applyEach({ command, now, callers: again });
  }

  #applyEach({ command, now, callers }: Group): void {
    for (const [id, { resolve, reject }] of callers) this.#applyOne(id, command, now).then(resolve, reject);
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

function rejectAll({ callers }: Group, error: unknown): void {
  for (const { reject } of callers.values()) reject(error);
}

/**
 * What a row tells. It tells no outcome where the statement found it locked and, after the wait, changed, but shows it as
 * of its beginning: if the command fits that one, another was first.
 */
function readTransition([applied, ...row]: TransitionRow, command: OrderCommand, now: Date) {
  const order = orderOfRow(row);
  const isOvertaken = applied === 'f' && decideOrder(order, command, now).ok;
  const transition: OrderTransition | undefined = isOvertaken ? undefined : { applied: applied === 't', order };
  return { id: order.id, transition };
}
