import { type OrderId, StorageUnavailableError } from '@petstore/domain';
import { patienceUntil, prepareStatement, type QuerySender, runStatement } from './pipelined-query.ts';

/** How long a command waits for an order that another transaction holds locked, in milliseconds. */
export const LOCK_WAIT_MS = 2_000;

/** How often the orders that are waited for are checked, in milliseconds. */
const CHECK_INTERVAL_MS = 25;

/** How many callers may wait for orders that were found locked more than once. Further ones are refused at once. */
const WAITING_CALLERS_MAX = 128;

/** A command that found its order locked. */
export interface WaitingCommand {
  /** When the command is given up, by `performance.now()`. */
  readonly deadlineMs: number;
  /** How many callers the command has by now. */
  countCallers(): number;
  tryAgain(): void;
  /** Called when the deadline has passed. */
  expire(): void;
  reject(error: unknown): void;
}

interface LockedOrder {
  readonly command: WaitingCommand;
  /** Whether a check has found it locked still: most locks are another command's and last for a millisecond or two. */
  isHeld: boolean;
}

/** Those of some orders that are not locked, or that are gone. It waits for none. */
const FIND_UNLOCKED = prepareStatement<readonly [id: string]>(
  'find-unlocked-orders',
  `with free as materialized (select id from orders where id = any($1::bigint[]) for no key update skip locked)
   select wanted from unnest($1::bigint[]) wanted
   where wanted in (select id from free) or not exists (select from orders where id = wanted)`,
);

/**
 * The orders that other transactions hold locked, and the commands that wait for them. No connection waits meanwhile: one
 * short statement now and then checks all of them together.
 */
export class LockedOrders {
  readonly #sender: QuerySender;
  readonly #orders = new Map<OrderId, LockedOrder>();
  #isChecking = false;

  constructor(sender: QuerySender) {
    this.#sender = sender;
  }

  add(id: OrderId, command: WaitingCommand): void {
    if (performance.now() >= command.deadlineMs) {
      command.expire();
      return;
    }
    this.#orders.set(id, { command, isHeld: false });
    if (!this.#isChecking) this.#checkSoon();
  }

  /** Whether as many callers as may wait do so, where the order is one of those that are waited for. */
  isFullFor(id: OrderId): boolean {
    return this.#orders.get(id)?.isHeld === true && this.#countCallers() >= WAITING_CALLERS_MAX;
  }

  #countCallers(): number {
    let count = 0;
    for (const { command, isHeld } of this.#orders.values()) if (isHeld) count += command.countCallers();
    return count;
  }

  #checkSoon(): void {
    this.#isChecking = true;
    setTimeout(() => void this.#check(), CHECK_INTERVAL_MS);
  }

  async #check(): Promise<void> {
    const checked = [...this.#orders];
    const wanted = `{${checked.map(([id]) => id).join()}}`;
    const patienceMs = patienceUntil(checked.map(([, { command }]) => command));
    try {
      const rows = await runStatement(this.#sender, FIND_UNLOCKED, [wanted], patienceMs);
      this.#sort(checked, new Set(rows.map(([id]) => id)));
    } catch (error) {
      for (const [id, { command }] of checked) {
        this.#orders.delete(id);
        command.reject(error);
      }
    }
    this.#isChecking = false;
    if (this.#orders.size > 0) this.#checkSoon();
  }

  /** Those that have waited longest are first. */
  #sort(checked: readonly [OrderId, LockedOrder][], free: ReadonlySet<string>): void {
    const nowMs = performance.now();
    let callerCount = 0;
    for (const [id, order] of checked) {
      const { command } = order;
      if (free.has(id.toString())) {
        this.#orders.delete(id);
        command.tryAgain();
      } else if (nowMs >= command.deadlineMs) {
        this.#orders.delete(id);
        command.expire();
      } else if (callerCount >= WAITING_CALLERS_MAX) {
        this.#orders.delete(id);
        command.reject(lockedError());
      } else {
        order.isHeld = true;
        callerCount += command.countCallers();
      }
    }
  }
}

export const lockedError = (): StorageUnavailableError =>
  new StorageUnavailableError('The order is held locked by another transaction.');
