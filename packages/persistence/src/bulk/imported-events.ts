import { type ChangeOrigin, SERVICE_ORIGIN } from '@petstore/domain';
import type pg from 'pg';
import { copyInto } from './copy-into.ts';

const TABLE = 'imported_ids';

/** How long the transaction stays open at most once nothing more is sent, in milliseconds. */
const OPEN_MS = 5_000;

/** In the order of the ids, whose places in the index are then next to each other. */
const RANGES = `(select first_id, last_id from ${TABLE} order by first_id) as ranges`;

/** Their last time is that of the import, which knows no other. */
const RECORD = `
  insert into order_events (type, at, actor, request_id, order_id, pet_id, quantity, ship_date, status, complete,
    placed_at, shipped_at, completed_at, cancelled_at)
  select 'order.imported', greatest(placed_at, shipped_at, completed_at, cancelled_at), $1::text, $2::text,
    id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
  from ${RANGES} join orders on id between first_id and last_id`;

/** Adds the ids of `inserted`, in a statement that has inserted orders and then returns how many they are. */
export const ADD_INSERTED = `
  ranges as (
    select min(id) as first_id, max(id) as last_id
    from (select id, id - row_number() over (order by id) as range from inserted) as each_id
    group by range
  ),
  added as (insert into ${TABLE} select first_id, last_id from ranges)
  select coalesce(sum(last_id - first_id + 1), 0)::int as count from ranges`;

/**
 * Records the orders of an import in the log of events. The last statement of the transaction does so, because readers
 * of the log wait for every event that is written and not committed.
 *
 * Ids that follow one another are kept as one range: most often all of them do, and each range costs a row and a look-up.
 */
export class ImportedEvents {
  readonly #client: pg.Client;
  #firstId = 0n;
  #nextId = 0n;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** @param client in an open transaction */
  static async begin(client: pg.Client): Promise<ImportedEvents> {
    await client.query(
      `create temporary table ${TABLE} (first_id bigint not null, last_id bigint not null) on commit drop`,
    );
    return new ImportedEvents(client);
  }

  async add(ids: Iterable<bigint>): Promise<void> {
    let ended = '';
    for (const id of ids) {
      if (id !== this.#nextId) {
        ended += this.#endRange();
        this.#firstId = id;
      }
      this.#nextId = id + 1n;
    }
    await this.#copy(ended);
  }

  async record({ actor, requestId }: ChangeOrigin = SERVICE_ORIGIN): Promise<void> {
    await this.#copy(this.#endRange());
    // Followers wait for the end of this transaction, so it must not be left open: not even by a client that hangs.
    await this.#client.query(`set local idle_in_transaction_session_timeout = '${OPEN_MS}ms'`);
    await this.#client.query(`analyze ${TABLE}`);
    // How many orders a range holds PostgreSQL cannot know: one step in the index for each range is right in any case.
    await this.#client.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
    await this.#client.query(RECORD, [actor, requestId ?? null]);
  }

  /** @returns the range that has begun, as COPY reads it, or nothing where none has */
  #endRange(): string {
    return this.#firstId === this.#nextId ? '' : `${this.#firstId}\t${this.#nextId - 1n}\n`;
  }

  async #copy(ranges: string): Promise<void> {
    if (ranges !== '') await copyInto(this.#client, `${TABLE} (first_id, last_id)`, ranges);
  }
}
