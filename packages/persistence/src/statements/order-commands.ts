import {
  type ChangeOrigin,
  decideOrder,
  type OrderCommand,
  type OrderId,
  type OrderTransition,
} from '@petstore/domain';
import { isConflict, isRolledBack } from '../storage-error.ts';
import { LOCK_WAIT_MS, LockedOrders, lockedError } from './locked-orders.ts';
import { textArray } from './order-records.ts';
import { orderOfRow } from './order-rows.ts';
import { STATEMENTS, type TransitionRow } from './order-transitions.ts';
import { patienceUntil, type QuerySender, runStatement } from './pipelined-query.ts';

/** A larger statement would keep its rows locked for longer than a millisecond or two. */
const BATCH_MAX = 64;

/** How many commands of a group that failed are tried one by one at a time. */
const APART_MAX = 8;

/** How often a command is tried that the rules allow, that finds its order free, and that does not change it. */
const TRIES_MAX = 3;

/** How often a command is tried that the server undid because of another transaction, and how soon again at most. */
const CONFLICTS_MAX = 5;
const CONFLICT_PAUSE_MS = 20;

interface Caller {
  readonly origin: ChangeOrigin;
  readonly resolve: (transition: OrderTransition) => void;
  readonly reject: (error: unknown) => void;
  /** When the command is given up where it has to wait, by `performance.now()`. */
  readonly deadlineMs: number;
}

interface Entry extends Caller {
  countCallers(): number;
  /** Rejects the callers who have waited for as long as they may; the others go on. */
  expire(): void;
  /** How often the command found its order free and did not change it. */
  keptCount: number;
  /** How often the server undid the command alone, because of another transaction. */
  conflictCount: number;
}

/** A command that waits until the one before it, for the same order, is done. */
interface QueuedCommand extends Caller {
  readonly command: OrderCommand;
  readonly now: Date;
}

/** One command at one moment, for any number of orders. */
interface Batch {
  readonly command: OrderCommand;
  readonly now: Date;
  /** Whether the orders seem to be locked, or were: then the statement `marked` of `order-transitions.ts` is sent. */
  readonly areMarked: boolean;
  readonly entries: Map<OrderId, Entry>;
}

type BatchKind = Omit<Batch, 'entries'>;

/**
 * Cancels, ships and completes orders. Commands of one tick share a statement, which commits once: under load that is a
 * third of the work. Each order has an outcome of its own all the same.
 *
 * Of the commands for one order only one is in flight at a time. Equal ones that were given meanwhile share the next
 * statement, and at most one of them is applied. So an order that many callers want costs little. One that another
 * transaction holds locked is waited for in {@link LockedOrders}, and holds up no other.
 */
export class OrderCommands {
  readonly #writes: QuerySender;
  readonly #onRecorded: (count: number) => void;
  readonly #locked: LockedOrders;
  readonly #flush = (): void => this.#sendAll();
  /** By the orders for which a command is in flight. */
  readonly #queues = new Map<OrderId, QueuedCommand[]>();
  #batches: Batch[] = [];

  /** @param onRecorded called with the number of events recorded */
  constructor(writes: QuerySender, onRecorded: (count: number) => void) {
    this.#writes = writes;
    this.#onRecorded = onRecorded;
    this.#locked = new LockedOrders(writes);
  }

  readonly apply = (id: OrderId, command: OrderCommand, now: Date, origin: ChangeOrigin): Promise<OrderTransition> =>
    new Promise((resolve, reject) => {
      const deadlineMs = performance.now() + LOCK_WAIT_MS;
      const queued: QueuedCommand = { command, now, origin, resolve, reject, deadlineMs };
      const queue = this.#queues.get(id);
      if (queue !== undefined) {
        if (this.#locked.isFullFor(id)) reject(lockedError());
        else queue.push(queued);
        return;
      }
      this.#queues.set(id, []);
      this.#begin(id, queued, []);
    });

  /** @param others equal commands, which cannot be applied after the first one */
  #begin(id: OrderId, first: QueuedCommand, others: readonly QueuedCommand[]): void {
    this.#enqueue(
      id,
      { command: first.command, now: first.now, areMarked: false },
      {
        origin: first.origin,
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
        deadlineMs: first.deadlineMs,
        expire: () => this.#expire(id, [first, ...others]),
        countCallers: () => 1 + others.length + (this.#queues.get(id)?.length ?? 0),
        keptCount: 0,
        conflictCount: 0,
      },
    );
  }

  #expire(id: OrderId, begun: readonly QueuedCommand[]): void {
    const nowMs = performance.now();
    const all = [...begun, ...(this.#queues.get(id) ?? [])];
    const hasExpired = ({ deadlineMs }: QueuedCommand) => nowMs >= deadlineMs;
    this.#queues.set(
      id,
      all.filter((queued) => !hasExpired(queued)),
    );
    this.#beginNext(id);
    for (const { reject } of all.filter(hasExpired)) reject(lockedError());
  }

  #beginNext(id: OrderId): void {
    const [first, ...others] = this.#queues.get(id) ?? [];
    if (first === undefined) {
      this.#queues.delete(id);
      return;
    }
    const isEqual = (other: QueuedCommand) => other.command === first.command;
    this.#queues.set(
      id,
      others.filter((other) => !isEqual(other)),
    );
    this.#begin(id, first, others.filter(isEqual));
  }

  #enqueue(id: OrderId, kind: BatchKind, entry: Entry): void {
    // Runs once all that the event loop has at hand was read.
    if (this.#batches.length === 0) setImmediate(this.#flush);
    this.#batchFor(kind).entries.set(id, entry);
  }

  #batchFor(kind: BatchKind): Batch {
    const open = this.#batches.find(
      (batch) =>
        batch.command === kind.command &&
        batch.now.getTime() === kind.now.getTime() &&
        batch.areMarked === kind.areMarked &&
        batch.entries.size < BATCH_MAX,
    );
    if (open !== undefined) return open;
    const batch: Batch = { ...kind, entries: new Map() };
    this.#batches.push(batch);
    return batch;
  }

  #sendAll(): void {
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) void this.#apply(batch);
  }

  async #apply(batch: Batch): Promise<void> {
    const { entries } = batch;
    let rows: readonly TransitionRow[];
    try {
      rows = await sendBatch(this.#writes, batch);
    } catch (error) {
      await this.#recover(batch, error);
      return;
    }
    for (const row of rows) {
      const id = BigInt(row[1]) as OrderId; // one of those that were sent
      const entry = entries.get(id);
      entries.delete(id);
      if (entry !== undefined) this.#settle(id, batch, entry, row);
    }
    for (const { resolve } of entries.values()) resolve({ applied: false, order: undefined });
  }

  #settle(id: OrderId, batch: Batch, entry: Entry, [outcome, ...row]: TransitionRow): void {
    switch (outcome) {
      case 'changed':
        this.#onRecorded(1);
        entry.resolve({ applied: true, order: orderOfRow(row) });
        return;
      case 'kept': // the statement had locked it
      case 'seen': {
        // It is as it was: the rules refuse the command, or another transaction holds the order.
        const order = orderOfRow(row);
        if (!decideOrder(order, batch.command, batch.now).ok) entry.resolve({ applied: false, order });
        else this.#applyLater(id, batch, entry, outcome);
        return;
      }
      default:
        outcome satisfies never;
    }
  }

  async #recover(batch: Batch, error: unknown): Promise<void> {
    const { entries, ...kind } = batch;
    // What made it fail concerns one order, perhaps; the others must not fail with it.
    if (entries.size > 1 && isRolledBack(error)) {
      await this.#applyEach(batch, error);
      return;
    }
    for (const [id, entry] of entries) {
      const mayTryAgain = isConflict(error) && performance.now() < entry.deadlineMs;
      if (!mayTryAgain || ++entry.conflictCount >= CONFLICTS_MAX) entry.reject(error);
      // Sent again at once, the two would conflict again.
      else setTimeout(() => this.#enqueue(id, kind, entry), Math.random() * CONFLICT_PAUSE_MS);
    }
  }

  /** A few at a time, so that not all of them wait where the reason was not one of the orders. */
  async #applyEach({ entries, ...kind }: Batch, groupError: unknown): Promise<void> {
    const left = entries.entries();
    const takeTurns = async () => {
      for (const [id, entry] of left) {
        if (performance.now() >= entry.deadlineMs) entry.reject(groupError);
        else await this.#apply({ ...kind, entries: new Map([[id, entry]]) });
      }
    };
    await Promise.all(Array.from({ length: APART_MAX }, takeTurns));
  }

  /** The rules allow the command, by the order as the statement saw it: it is locked or marked, or was changed since. */
  #applyLater(id: OrderId, { entries: _, ...kind }: Batch, entry: Entry, outcome: 'kept' | 'seen'): void {
    const tryAgain = () => this.#enqueue(id, { ...kind, areMarked: true }, entry);
    if (!kind.areMarked) tryAgain();
    else if (outcome === 'seen') this.#locked.add(id, { ...entry, tryAgain });
    else if (++entry.keptCount < TRIES_MAX) tryAgain();
    else
      entry.reject(
        new Error(
          `PostgreSQL did not ${kind.command} order ${id}, although the rules allow it: does a trigger prevent it?`,
        ),
      );
  }
}

function sendBatch(writes: QuerySender, { command, now, areMarked, entries }: Batch) {
  const { one, several, marked } = STATEMENTS[command];
  const ids = Array.from(entries.keys()).join();
  const origins = Array.from(entries.values(), ({ origin }) => origin);
  const patienceMs = patienceUntil(entries.values());
  const [first] = origins;
  if (first !== undefined && origins.length === 1 && !areMarked) {
    const { actor, requestId = null } = first;
    return runStatement(writes, one, [ids, now.toISOString(), actor, requestId], patienceMs);
  }
  const values = [
    `{${ids}}`,
    now.toISOString(),
    textArray(origins.map(({ actor }) => actor)),
    textArray(origins.map(({ requestId }) => requestId)),
  ];
  return runStatement(writes, areMarked ? marked : several, values, patienceMs);
}
