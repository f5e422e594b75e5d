import { StorageUnavailableError } from '@petstore/domain';
import type pg from 'pg';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import type { Database } from './database/database.ts';
import { codeOf, SQLSTATE } from './database/errors.ts';
import { prepareStatement } from './database/statement.ts';

// Logical replication, COPY and a restore of the data alone copy rows, and leave the sequences of their ids behind.

type Sequence = 'orders_id_seq' | 'order_events_id_seq' | 'key_events_id_seq';

interface SequenceRules {
  /** The largest id that has been given; `next` is the sequence's next value. */
  readonly largestId: string;
  /** The statement that keeps others from moving the sequence until the transaction ends. */
  readonly lock?: string;
}

const RULES: Readonly<Record<Sequence, SequenceRules>> = {
  // Ids from 2^53 on, which are not exact as JavaScript numbers, are ignored; a sequence that has already reached such ids
  // ignores those that are twice as large. An import or a generation holds the lock, and moves the sequence itself. Orders
  // are placed without it: no reader goes by their ids.
  orders_id_seq: {
    largestId: `select id from orders where id < least(greatest(9007199254740992, 2 * next), 9223372036854775807)::bigint
      order by id desc limit 1`,
    lock: `perform pg_advisory_xact_lock(${ADVISORY_LOCKS.orderIds})`,
  },
  // Deleted events count: followers have passed their ids. Every writer of events locks the table before it draws an id, so
  // none draws one that the sequence then gives again, which followers would miss.
  order_events_id_seq: {
    largestId: 'select greatest(through_id, (select max(id) from order_events)) from order_events_deleted',
    lock: 'lock table order_events in share mode',
  },
  // A role that may only insert cannot lock this table. If an id is drawn meanwhile, the worst is one more id in use.
  key_events_id_seq: { largestId: 'select max(id) from key_events' },
};

const SEQUENCES = Object.keys(RULES) as Sequence[]; // its own

/** A row if the sequence would give an id that has been given. */
const selectBehind = (sequence: Sequence) => `
  select '${sequence}' as name, largest_id
  from (select last_value::numeric + is_called::integer as next from ${sequence}) as state
    cross join lateral (${RULES[sequence].largestId}) as given (largest_id)
  where largest_id >= next`;

const FIND_BEHIND = prepareStatement<{ readonly name: Sequence }>(
  'find-sequences-behind',
  SEQUENCES.map(selectBehind).join(' union all '),
);

/** Moves a sequence forwards, to the largest id. */
const setForwards = (sequence: Sequence) => `setval(name, largest_id) from (${selectBehind(sequence)}) as behind`;

/**
 * How long a sequence waits for its lock at least, in milliseconds. PostgreSQL waits a second (`deadlock_timeout`) before it
 * ends an automatic vacuum for a lock, so `lock_timeout` of a server's session is too short; that of a command is longer.
 */
const LOCK_TIMEOUT_MIN_MS = 1_500;

/** Moves a sequence, under its lock if it has one, in a transaction of its own: the timeout holds until its end. */
const moveSequence = (sequence: Sequence) =>
  prepareStatement<never>(
    `move-${sequence}`,
    `do $$ begin
       perform set_config('lock_timeout', greatest(setting::integer, ${LOCK_TIMEOUT_MIN_MS})::text, true)
         from pg_settings where name = 'lock_timeout';
       ${RULES[sequence].lock ?? 'null'};
       perform ${setForwards(sequence)};
     end $$`,
  );

/** Moves the sequence of orders in the transaction of this client, which holds the lock `orderIds`. */
export async function moveOrderIds(client: pg.Client): Promise<void> {
  await client.query(`select ${setForwards('orders_id_seq')}`);
}

/** The sequences of ids, which are brought to their tables when a program starts, and by `petstore migrate`. */
export interface Sequences {
  /**
   * Takes one query, and changes nothing.
   *
   * @returns the sequences that would give an id that has been given, or that this role may not read, with the reason
   */
  findBehind(): Promise<ReadonlyMap<Sequence, string>>;
  /**
   * Brings the sequences to their tables, as far as the server and the role permit.
   *
   * @returns those that stay behind, with the reason
   */
  align(): Promise<ReadonlyMap<Sequence, string>>;
}

export function createSequences(database: Database): Sequences {
  const findBehind = async (): Promise<ReadonlyMap<Sequence, string>> => {
    try {
      const rows = await database.run('requests', FIND_BEHIND, []);
      return new Map(rows.map(({ name }) => [name, 'it generates ids that are in use']));
    } catch (error) {
      if (!isDenial(error)) throw error;
      return new Map(SEQUENCES.map((name) => [name, reasonOf(error)]));
    }
  };
  return {
    findBehind,
    async align() {
      const stillBehind = new Map<Sequence, string>();
      for (const [name] of await findBehind()) {
        try {
          await database.run('writes', moveSequence(name), []);
        } catch (error) {
          if (!(isDenial(error) || error instanceof StorageUnavailableError)) throw error;
          stillBehind.set(name, reasonOf(error));
        }
      }
      return stillBehind;
    },
  };
}

const isDenial = (error: unknown): boolean => codeOf(error) === SQLSTATE.permissionDenied;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
