import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChangeOrigin,
  decideOrder,
  type Order,
  type OrderCommand,
  type OrderId,
  type OrderTransition,
  StorageUnavailableError,
} from '@petstore/domain';
import DataLoader from 'dataloader';
import type { QuerySender } from '../database/statement.ts';
import { isConflict } from '../database/storage-error.ts';
import { COMMAND_STATEMENTS } from './command-statements.ts';
import { orderOfRow } from './order-rows.ts';

/** The maximum number of commands in a statement. A larger one would lock its rows for more than a millisecond or two. */
const BATCH_MAX = 64;

/** How long a command waits for an order that another transaction has locked, in milliseconds. */
const LOCK_WAIT_MS = 2_000;

/** The maximum pause between attempts at a locked order, in milliseconds. It is random, so waiting commands spread out. */
const RETRY_PAUSE_MS = 25;

/** The maximum number of commands that wait for orders found locked more than once. Further ones are refused at once. */
const WAITING_MAX = 128;

interface Command {
  readonly id: OrderId;
  readonly now: Date;
  readonly origin: ChangeOrigin;
}

interface Outcome {
  readonly applied: boolean;
  /** The order after the command, or as the statement found it; `undefined` if there is no such order. */
  readonly order: Order | undefined;
}

/**
 * Cancels, ships and completes orders. Commands of one tick share a statement, which commits once: under load, that is a
 * fifth of the work. Each order still has an outcome of its own, and of several commands for one order at most one is
 * applied.
 *
 * A command for an order that another transaction has locked is tried again, and occupies no connection meanwhile.
 */
export class OrderCommands {
  readonly #writes: QuerySender;
  readonly #loaders: Readonly<Record<OrderCommand, DataLoader<Command, Outcome>>>;
  #waitingCount = 0;

  constructor(writes: QuerySender) {
    this.#writes = writes;
    const loaderOf = (command: OrderCommand) =>
      new DataLoader<Command, Outcome>((commands) => this.#send(command, commands), {
        cache: false,
        maxBatchSize: BATCH_MAX,
        batchScheduleFn: (send) => setImmediate(send), // after all available input was read
      });
    this.#loaders = { cancel: loaderOf('cancel'), ship: loaderOf('ship'), complete: loaderOf('complete') };
  }

  /** @throws StorageUnavailableError also if another transaction keeps the order locked for {@link LOCK_WAIT_MS} */
  async apply(id: OrderId, command: OrderCommand, now: Date, origin: ChangeOrigin): Promise<OrderTransition> {
    const deadlineMs = performance.now() + LOCK_WAIT_MS;
    const first = await this.#attempt(id, command, now, origin);
    if (first !== 'locked') return first;
    // Most locks belong to another command, and last for a millisecond or two.
    await sleep(Math.random() * RETRY_PAUSE_MS);
    const second = await this.#attempt(id, command, now, origin);
    if (second !== 'locked') return second;
    if (this.#waitingCount >= WAITING_MAX) throw lockedError();
    this.#waitingCount++;
    try {
      while (performance.now() < deadlineMs) {
        await sleep(Math.random() * RETRY_PAUSE_MS);
        const outcome = await this.#attempt(id, command, now, origin);
        if (outcome !== 'locked') return outcome;
      }
    } finally {
      this.#waitingCount--;
    }
    throw lockedError();
  }

  async #attempt(
    id: OrderId,
    command: OrderCommand,
    now: Date,
    origin: ChangeOrigin,
  ): Promise<OrderTransition | 'locked'> {
    try {
      const { applied, order } = await this.#loaders[command].load({ id, now, origin });
      if (order === undefined) return { applied: false, order };
      if (applied) return { applied: true, order };
      // The order is unchanged: the rules refuse the command, or another transaction has locked the order.
      return decideOrder(order, command, now).ok ? 'locked' : { applied: false, order };
    } catch (error) {
      if (isConflict(error)) return 'locked';
      throw error;
    }
  }

  async #send(command: OrderCommand, commands: readonly Command[]): Promise<(Outcome | Error)[]> {
    // The first command for an order may be applied; the others see the order as the first leaves it.
    const firsts = new Map<OrderId, Command>();
    for (const each of commands) if (!firsts.has(each.id)) firsts.set(each.id, each);
    const sent = [...firsts.values()];
    try {
      const rows = await this.#writes.run(COMMAND_STATEMENTS[command], [
        sent.map(({ id }) => id.toString()),
        sent.map(({ now }) => now.toISOString()),
        sent.map(({ origin }) => origin.actor),
        sent.map(({ origin }) => origin.requestId ?? null),
      ]);
      const outcomes = new Map(
        rows.map(([applied, ...row]) => [row[0], { applied: applied === 't', order: orderOfRow(row) }]),
      );
      return commands.map((each): Outcome => {
        const { applied, order } = outcomes.get(each.id.toString()) ?? NOT_FOUND;
        return { applied: applied && firsts.get(each.id) === each, order };
      });
    } catch (error) {
      // The statement may have failed because of one order; the others must not fail with it.
      const mayConcernOne = sent.length > 1 && !(error instanceof StorageUnavailableError);
      if (!mayConcernOne) return commands.map(() => error as Error); // senders reject with errors
      return (await Promise.all(commands.map((each) => this.#send(command, [each])))).flat();
    }
  }
}

const NOT_FOUND: Outcome = { applied: false, order: undefined };

const lockedError = (): StorageUnavailableError =>
  new StorageUnavailableError('The order is held locked by another transaction.');
