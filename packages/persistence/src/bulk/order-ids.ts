import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { IdReservation } from './import-target.ts';

/** The generator behind `orders.id`. */
export const ORDER_ID_SEQUENCE = 'orders_id_seq';

/** The transaction that holds it is the only one that moves the generator other than by drawing an id. */
const GENERATOR_LOCK = '8099007544119226982';

/** Waits until no other import or generation of orders is under way; then the generator is this transaction's to move. */
export const LOCK_GENERATOR = `select pg_advisory_xact_lock(${GENERATOR_LOCK})`;

/** The generator does not follow ids from here on, which are not exact as JavaScript numbers. */
const UNUSUAL_ID = 2n ** 53n;

/**
 * How far ahead of an import's ids the generator stands while the rest of the ids is not known: more than an import
 * brings, and little beside the ids that there are.
 */
const REACH = 1_000_000_000n;

const PLACE = `select case when is_called then last_value + 1 else last_value end as id from ${ORDER_ID_SEQUENCE}`;
/** One step in the index, however many orders there are. */
const largestBelow = (limit: string) => `(select id from orders where id < ${limit} order by id desc limit 1)`;

/**
 * Moves the generator behind the largest id that is taken. Run by a session that draws ids which are taken: an older
 * release imported them, or another program inserted them. An import under way has moved it already, so nothing is done.
 * A generator that stands among unusual ids leaves those alone that are twice as large.
 */
export const SKIP_TAKEN_IDS = `
  select case when pg_try_advisory_xact_lock(${GENERATOR_LOCK}) then (
    with place as materialized (${PLACE}),
      edge as materialized (
        select least(greatest(${UNUSUAL_ID}, 2 * id::numeric), ${2n ** 63n - 1n})::bigint as id from place
      ),
      free as materialized (select ${largestBelow('(select id from edge)')} + 1 as id)
    select setval('${ORDER_ID_SEQUENCE}', free.id, false) from place, free where free.id > place.id
  ) end`;

const FIND_FREE = `
  with place as materialized (${PLACE})
  select greatest(id, ${largestBelow(String(UNUSUAL_ID))} + 1) as id from place`;

/** Moves it to $1 unless it is beyond. Returns where it was. */
const MOVE = `
  with place as materialized (${PLACE})
  select id, case when id < $1::bigint then setval('${ORDER_ID_SEQUENCE}', $1, false) end from place`;

/** Only while no id was drawn since the generator was moved to $1. */
const MOVE_BACK = `
  select case when pg_try_advisory_xact_lock(${GENERATOR_LOCK}) then (
    select setval('${ORDER_ID_SEQUENCE}', $2::bigint, false) from ${ORDER_ID_SEQUENCE}
    where last_value = $1::bigint and not is_called
  ) end`;

const WRITERS = `
  select virtualtransaction as id from pg_locks
  where relation = 'orders'::regclass and mode = 'RowExclusiveLock' and granted and pid <> pg_backend_pid()
    and database = (select oid from pg_database where datname = current_database())`;

const POLL_MS = 5;

/** Longer than the server works on one of their statements, of any release. */
const WRITERS_PATIENCE_MS = 5_000;

/**
 * Keeps ids that are drawn apart from those that an import brings, by moving the generator before they are inserted. So
 * an order placed meanwhile neither waits for the import nor takes an id that it has yet to bring.
 *
 * Moving takes effect at once and is no part of the transaction, so `release` follows in either outcome.
 */
export class OrderIdReservation implements IdReservation {
  readonly #client: pg.Client;
  /** The first id that is surely free without the import; unknown until the generator is this transaction's. */
  #free: bigint | undefined;
  #reserved: bigint | undefined;
  #largest = 0n;

  /** @param client in an open transaction */
  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Called before the ids are inserted. The first time it waits until other imports have ended. */
  async include(ids: Iterable<bigint>): Promise<void> {
    for (const id of ids) if (id < UNUSUAL_ID && id > this.#largest) this.#largest = id;
    if (this.#reserved !== undefined && this.#largest < this.#reserved) return;
    const free = this.#free ?? (await this.#lockGenerator());
    const far = max(this.#largest + 1n, free) + REACH;
    const target = far < UNUSUAL_ID ? far : UNUSUAL_ID;
    const found = await readId(this.#client, MOVE, [target]);
    this.#free = found === this.#reserved ? free : max(free, found);
    this.#reserved = max(target, found);
    await this.#waitForDrawnIds();
  }

  /** Moves the generator back: behind what was imported, or where it was. Ids that were drawn meanwhile stay behind it. */
  async release({ isImported }: { readonly isImported: boolean }): Promise<void> {
    if (this.#reserved === undefined || this.#free === undefined) return;
    const target = isImported ? max(this.#free, this.#largest + 1n) : this.#free;
    const reserved = this.#reserved;
    this.#reserved = undefined;
    await this.#client.query(MOVE_BACK, [reserved, target]);
  }

  async #lockGenerator(): Promise<bigint> {
    await this.#client.query(LOCK_GENERATOR);
    return readId(this.#client, FIND_FREE);
  }

  /** A statement that drew its id before the generator was moved may not have inserted it yet. */
  async #waitForDrawnIds(): Promise<void> {
    let writers = await this.#findWriters();
    for (let waitedMs = 0; writers.length > 0 && waitedMs < WRITERS_PATIENCE_MS; waitedMs += POLL_MS) {
      await sleep(POLL_MS);
      const now = new Set(await this.#findWriters());
      writers = writers.filter((writer) => now.has(writer));
    }
  }

  async #findWriters(): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ id: string }>(WRITERS);
    return rows.map(({ id }) => id);
  }
}

async function readId(client: pg.Client, statement: string, values: readonly bigint[] = []): Promise<bigint> {
  const { rows } = await client.query<{ id: string }>(statement, [...values]);
  const [row] = rows;
  if (row === undefined) throw new Error(`${ORDER_ID_SEQUENCE} has no row`);
  return BigInt(row.id);
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
