import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { type AdvisoryLock, holdLock } from './advisory-locks.ts';
import type { Database } from './database/database.ts';
import { codeOf, HUNG, reportOf, SQLSTATE } from './database/errors.ts';
import { inTransaction } from './database/in-transaction.ts';

/** A value to import, and the line of the source on which it begins. */
interface ImportRecord<Value> {
  /** The line as an editor counts it. No two records of a source have the same. */
  readonly line: number;
  readonly value: Value;
}

/** A record that was left out, and the reason. */
export interface RejectedRecord {
  /** The line as an editor counts it. */
  readonly line: number;
  readonly reason: string;
}

/** The number of rejected records that are listed: memory must not grow with a file in which every line is wrong. */
const REJECTED_LISTED_MAX = 1_000;

/** A record, or the reason why its line contains none. */
export type ImportItem<Value> = ImportRecord<Value> | RejectedRecord;

/** Items in the order of their lines, one or several at a time. */
export type ImportSource<Value> = AsyncIterable<ImportItem<Value> | Iterable<ImportItem<Value>>>;

export interface ImportOptions {
  /** Whether valid records are imported if others are rejected. @default false, all or nothing */
  readonly skipBad?: boolean;
  /** Called before the transaction commits; if it is never called, nothing was imported. */
  readonly onCommit?: () => void;
}

export interface ImportResult {
  /** The number of items in the source, valid and invalid. */
  readonly readCount: number;
  /** 0 if a record was rejected and `skipBad` is false. */
  readonly insertedCount: number;
  /** The first rejected records, at most {@link REJECTED_LISTED_MAX}, in the order of their lines. */
  readonly rejected: readonly RejectedRecord[];
  /** The number of all rejected records. */
  readonly rejectedCount: number;
}

/** The name of a record by its table, as in "an order with the id 5 already exists". */
const NOUNS = { orders: 'an order', pets: 'a pet' } as const;

/** How records of one kind get into their table. The statements run in one session, in this order. */
export interface ImportTarget<Value> {
  readonly table: keyof typeof NOUNS;
  /** Creates the temporary table `staged`, whose columns are `line` and those of {@link rowOf}. */
  readonly createStaged: string;
  /** A record in the format of COPY, without its line number and its line end. */
  readonly rowOf: (value: Value) => string;
  /** Makes other imports of this kind wait until the transaction ends. */
  readonly lock: AdvisoryLock;
  /** Inserts the staged rows into their table. @returns the number of rows */
  readonly insertStaged: (client: pg.Client) => Promise<number>;
}

/**
 * Imports records, all of them or none. A first statement copies them into a temporary table and locks nothing else, so
 * nobody waits while the source is read. Then one transaction refuses and inserts.
 *
 * @throws StorageUnavailableError, and any error of the source; nothing is imported then
 */
export const importRows = <Value>(
  database: Database,
  target: ImportTarget<Value>,
  source: ImportSource<Value>,
  options: ImportOptions = {},
): Promise<ImportResult> =>
  database.withLongSession(async (client, { silence }) => {
    const read: ReadRecords = { readCount: 0, rejected: [], rejectedCount: 0 };
    await client.query(target.createStaged);
    await copyStaged(client, rowsOf(source, target, read), silence);
    await client.query('analyze staged');
    for (let attempt = 1; ; attempt++) {
      try {
        return await inTransaction(client, () => insertStaged(client, target, read, options));
      } catch (error) {
        if (!isIdConflict(error, target.table) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  });

/** The maximum number of attempts at the transaction. Each attempt refuses the ids that have come into use meanwhile. */
const ATTEMPTS_MAX = 5;

/** A row that was inserted during the transaction has an id of the import, or waits for it as the import does for that row. */
const isIdConflict = (error: unknown, table: ImportTarget<never>['table']): boolean =>
  reportOf(error)?.constraint === `${table}_pkey` || codeOf(error) === SQLSTATE.deadlock;

/** The length of the pieces in which rows are sent to PostgreSQL, in UTF-16 code units. */
const CHUNK_LENGTH = 65_536;

/**
 * Copies rows into the temporary table. The source may take any time.
 *
 * @throws StorageUnavailableError if PostgreSQL takes no rows, or does not confirm all of them, for so long
 */
async function copyStaged(client: pg.Client, rows: AsyncIterable<string>, silenceMs: number): Promise<void> {
  const silence = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(() => silence.reject(HUNG), silenceMs);
  };
  async function* taken() {
    for await (const chunk of rows) {
      begin();
      yield chunk;
      clearTimeout(timer);
    }
    begin();
  }
  const copying = pipeline(taken, client.query(from('copy staged from stdin')));
  try {
    await Promise.race([copying, silence.promise]); // a copy that was aborted would wait for PostgreSQL to say so
  } finally {
    clearTimeout(timer);
  }
}

/** What was read so far. */
interface ReadRecords {
  /** The number of valid and invalid records. */
  readCount: number;
  /** The first rejected records, at most {@link REJECTED_LISTED_MAX}. */
  readonly rejected: RejectedRecord[];
  rejectedCount: number;
}

/** The valid records of a source in the format of COPY. The others are added to those that were read. */
async function* rowsOf<Value>(
  source: ImportSource<Value>,
  { rowOf }: ImportTarget<Value>,
  read: ReadRecords,
): AsyncGenerator<string> {
  let chunk = '';
  for await (const items of source) {
    for (const item of 'line' in items ? [items] : items) {
      read.readCount++;
      if ('value' in item) chunk += `${item.line}\t${rowOf(item.value)}\n`;
      else if (++read.rejectedCount <= REJECTED_LISTED_MAX) read.rejected.push(item);
    }
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function insertStaged<Value>(
  client: pg.Client,
  target: ImportTarget<Value>,
  read: ReadRecords,
  { skipBad = false, onCommit }: ImportOptions,
): Promise<ImportResult> {
  await holdLock(client, target.lock);
  const refused = await deleteRefused(client, target.table);
  const rejected = [...read.rejected, ...refused.listed].sort((a, b) => a.line - b.line).slice(0, REJECTED_LISTED_MAX);
  const rejectedCount = read.rejectedCount + refused.count;
  const report = { readCount: read.readCount, insertedCount: 0, rejected, rejectedCount };
  if (rejectedCount > 0 && !skipBad) return report;
  const insertedCount = await target.insertStaged(client);
  onCommit?.();
  return { ...report, insertedCount };
}

/** The statement that deletes staged rows whose id is repeated, or in use in a table. */
const deleteRefusedFrom = (table: ImportTarget<never>['table']): string => `
  with refused as (
    select line, numbered.id, ${table}.id is not null as is_in_use
    from (select line, id, row_number() over (partition by id order by line) as occurrence from staged) as numbered
      left join ${table} on ${table}.id = numbered.id
    where occurrence > 1 or ${table}.id is not null
  ), deleted as (
    delete from staged using refused where staged.line = refused.line
  )
  select line, id, is_in_use, (count(*) over ())::integer as refused_count
  from refused order by line limit ${REJECTED_LISTED_MAX}`;

async function deleteRefused(
  client: pg.Client,
  table: ImportTarget<never>['table'],
): Promise<{ readonly listed: readonly RejectedRecord[]; readonly count: number }> {
  type Refused = { line: number; id: bigint; is_in_use: boolean; refused_count: number };
  const { rows } = await client.query<Refused>(deleteRefusedFrom(table));
  const listed = rows.map(({ line, id, is_in_use: isInUse }) => ({
    line,
    reason: isInUse
      ? `${NOUNS[table]} with the id ${id} already exists`
      : `the id ${id} repeats that of an earlier line`,
  }));
  return { listed, count: rows[0]?.refused_count ?? 0 };
}

/** A value as COPY reads it: each is one column of a line, whatever it contains. */
export const copyCell = (text: string | null): string =>
  text === null ? '\\N' : text.replace(/[\\\t\n\r]/g, (character) => COPY_ESCAPES[character] ?? character);

const COPY_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
