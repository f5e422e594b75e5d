import pg from 'pg';
import type { DatabaseServers } from '../database/servers.ts';
import { copyInto } from './copy-into.ts';
import type { IdReservation, ImportTarget } from './import-target.ts';
import type { ImportedEvents } from './imported-events.ts';
import { REJECTED_LISTED_MAX, type RejectedRecord } from './rejected-record.ts';
import { connect } from './transaction.ts';

/** A record as it is written. */
export interface Row {
  readonly id: bigint;
  /** The same as PostgreSQL writes it, by which ids are compared faster than as numbers. */
  readonly idText: string;
  readonly line: number;
  /** As COPY reads it, with its line end. */
  readonly text: string;
}

/** Those rows of a batch that can be inserted, and the others. */
interface Selection {
  /** As COPY reads them. */
  readonly text: string;
  readonly ids: readonly bigint[];
  /** The same as `ids`. */
  readonly brought: ReadonlySet<string>;
  readonly rejected: readonly Row[];
}

/** Rows, ready to be inserted where none of their ids is taken. */
export interface Batch extends Selection {
  /** One or more. */
  readonly rows: readonly Row[];
  readonly least: bigint;
  readonly largest: bigint;
}

/** Does what can be done for a batch while PostgreSQL still works on the one before. */
export function prepareBatch(rows: readonly Row[]): Batch {
  let [least, largest] = [rows[0]?.id ?? 0n, rows[0]?.id ?? 0n];
  for (const { id } of rows) {
    if (id < least) least = id;
    else if (id > largest) largest = id;
  }
  return { ...selectRows(rows, new Set()), rows, least, largest };
}

function selectRows(rows: readonly Row[], taken: ReadonlySet<string>): Selection {
  const brought = new Set<string>();
  const rejected: Row[] = [];
  const ids: bigint[] = [];
  let text = '';
  for (const row of rows) {
    if (taken.has(row.idText) || brought.has(row.idText)) rejected.push(row);
    else {
      brought.add(row.idText);
      ids.push(row.id);
      text += row.text;
    }
  }
  return { text, ids, brought, rejected };
}

/** Another program has brought an id between the check and the insert. The message is one line for the user. */
export class ImportConflictError extends Error {
  override readonly name = 'ImportConflictError';
}

/**
 * Puts rows into a table, but for those whose id is taken. Looks for taken ids first, because COPY refuses all of its
 * rows for one of them, and because looking costs a tenth of `on conflict do nothing`.
 */
export class BatchInserter implements AsyncDisposable {
  readonly #servers: DatabaseServers;
  readonly #client: pg.Client;
  readonly #target: Pick<ImportTarget<never>, 'table' | 'noun' | 'columns'>;
  readonly #reservation: IdReservation;
  readonly #events: ImportedEvents | undefined;
  readonly #rejected: RejectedRecord[] = [];
  #rejectedCount = 0;
  #insertedCount = 0;
  #outside: pg.Client | undefined;

  /** @param client in an open transaction */
  constructor(
    servers: DatabaseServers,
    client: pg.Client,
    target: Pick<ImportTarget<never>, 'table' | 'noun' | 'columns'>,
    { reservation, events }: { readonly reservation: IdReservation; readonly events: ImportedEvents | undefined },
  ) {
    this.#servers = servers;
    this.#client = client;
    this.#target = target;
    this.#reservation = reservation;
    this.#events = events;
  }

  get insertedCount(): number {
    return this.#insertedCount;
  }

  /** Those that were rejected, the first ones of them. */
  get rejected(): readonly RejectedRecord[] {
    return this.#rejected;
  }

  get rejectedCount(): number {
    return this.#rejectedCount;
  }

  /** @throws ImportConflictError */
  async insert(batch: Batch): Promise<void> {
    await this.#reservation.include(batch.ids);
    const taken = await this.#findTaken(batch);
    const { text, ids, brought, rejected } = taken.size === 0 ? batch : selectRows(batch.rows, taken);
    await this.#copy(text);
    await this.#events?.add(ids);
    this.#insertedCount += ids.length;
    if (rejected.length > 0) await this.#reject(rejected, brought);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#outside?.end().catch(() => {}); // it only read
  }

  async #findTaken({ rows, least, largest }: Batch): Promise<ReadonlySet<string>> {
    // Most often few ids of the whole range are taken, or none: one step in the index. Looking for each takes longer, and
    // PostgreSQL may start parallel workers or read all rows for it. Of a wide range only whether any is taken is read.
    const isNarrow = largest - least < BigInt(NARROW_FACTOR * rows.length);
    const limit = isNarrow ? 2 * rows.length : 1;
    const inRange = await this.#selectIds(`where id between $1 and $2 order by id limit ${limit}`, [
      String(least),
      String(largest),
    ]);
    if (inRange.size < limit) return inRange;
    return this.#selectIds('where id = any($1::bigint[])', [arrayText(rows)]);
  }

  async #selectIds(where: string, values: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.#client.query<[id: string]>({
      text: `select id from ${this.#target.table} ${where}`,
      values: [...values],
      rowMode: 'array',
    });
    return new Set(rows.map(([id]) => id));
  }

  async #copy(text: string): Promise<void> {
    const { table, noun, columns } = this.#target;
    if (text === '') return;
    try {
      await copyInto(this.#client, `${table} (${columns.join(', ')})`, text);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION)) throw error;
      const what = `another program has brought ${noun} of the same id while the import ran`;
      throw new ImportConflictError(`${what}. ${error.detail} Nothing is imported; run it again`, { cause: error });
    }
  }

  async #reject(rejected: readonly Row[], brought: ReadonlySet<string>): Promise<void> {
    this.#rejectedCount += rejected.length;
    const listed = rejected.slice(0, REJECTED_LISTED_MAX - this.#rejected.length);
    if (listed.length === 0) return;
    const committed = await this.#findCommitted(listed.filter(({ idText }) => !brought.has(idText)));
    for (const { line, idText } of listed) {
      const reason = committed.has(idText)
        ? `${this.#target.noun} with the id ${idText} exists already`
        : `the id ${idText} is repeated from an earlier line`;
      this.#rejected.push({ line, reason });
    }
  }

  /** Which of the ids the database holds without this import, whose own rows no other connection sees before it ends. */
  async #findCommitted(candidates: readonly Row[]): Promise<ReadonlySet<string>> {
    if (candidates.length === 0) return new Set();
    this.#outside ??= await connect(this.#servers);
    const { rows } = await this.#outside.query<{ id: string }>(
      `select id from ${this.#target.table} where id = any($1::bigint[])`,
      [arrayText(candidates)],
    );
    return new Set(rows.map(({ id }) => id));
  }
}

/** A batch's range is narrow while it is less than so many times as wide as the batch is long. */
const NARROW_FACTOR = 20;

const UNIQUE_VIOLATION = '23505';

const arrayText = (rows: readonly Row[]): string => `{${rows.map(({ idText }) => idText).join(',')}}`;
