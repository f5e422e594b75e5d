import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import type { DatabaseServers } from '../database/servers.ts';
import { toStorageError } from '../database/storage-error.ts';
import { connect, inTransaction } from './transaction.ts';

/** Something to import, and where it stands in its source. */
export interface ImportRecord<Value> {
  /** As an editor counts. No two records of a source have the same. */
  readonly line: number;
  readonly value: Value;
}

/** A record that was left out, and why. */
export interface RejectedRecord {
  /** As an editor counts. */
  readonly line: number;
  readonly reason: string;
}

/** How many rejected records are listed, the first ones: memory must not grow with a file in which every line is wrong. */
export const REJECTED_LISTED_MAX = 1_000;

/** A record, or why there is none at its line. */
export type ImportItem<Value> = ImportRecord<Value> | RejectedRecord;

/** Items in the order of their lines, one at a time or some at once. */
export type ImportSource<Value> = AsyncIterable<ImportItem<Value> | Iterable<ImportItem<Value>>>;

export interface ImportOptions {
  /** Whether the good records stay if others are rejected. @default false, all or nothing */
  readonly skipBad?: boolean;
  /** Called before the transaction commits; if it never is, nothing was imported. */
  readonly onCommit?: () => void;
}

export interface ImportResult {
  /** Items that the source gave, good and bad. */
  readonly readCount: number;
  /** 0 if something was rejected and nothing was to be skipped. */
  readonly insertedCount: number;
  /** The first ones, {@link REJECTED_LISTED_MAX} at most, in the order of their lines. */
  readonly rejected: readonly RejectedRecord[];
  /** All of them. */
  readonly rejectedCount: number;
}

/** How records of one kind get into their table. The statements run in one session, in this order. */
export interface ImportTarget<Value> {
  /** What one is called, as in "an order with the id 5 exists already". */
  readonly noun: string;
  /** Creates the temporary table `staged`, whose columns are `line` and those of {@link rowOf}. */
  readonly createStaged: string;
  /** A record as COPY reads it, without its line and its line end. */
  readonly rowOf: (value: Value) => string;
  /** Keeps other imports of this kind waiting until the transaction ends. */
  readonly lock: string;
  /** Takes out of `staged` those whose id is repeated or taken. Returns the first ones, and how many there are. */
  readonly takeRefused: string;
  /** Puts what is staged into its table, and does what belongs to that. @returns how many records were inserted */
  readonly insertStaged: (client: pg.Client) => Promise<number>;
}

/**
 * Imports records, all of them or none. They go into a temporary table first, by a statement that touches nothing else, so
 * nobody waits while the source is read; then one transaction refuses and inserts.
 *
 * @throws StorageUnavailableError, and whatever the source throws; nothing is imported then
 */
export async function importRows<Value>(
  servers: DatabaseServers,
  target: ImportTarget<Value>,
  source: ImportSource<Value>,
  { skipBad = false, onCommit }: ImportOptions = {},
): Promise<ImportResult> {
  const client = await connect(servers);
  const unreadable: RejectedRecord[] = [];
  let readCount = 0;
  let unreadableCount = 0;
  async function* rows(): AsyncGenerator<string> {
    let chunk = '';
    for await (const items of source) {
      for (const item of 'line' in items ? [items] : items) {
        readCount++;
        if ('value' in item) chunk += `${item.line}\t${target.rowOf(item.value)}\n`;
        else if (++unreadableCount <= REJECTED_LISTED_MAX) unreadable.push(item);
      }
      if (chunk.length < CHUNK_CHARACTERS) continue;
      yield chunk;
      chunk = '';
    }
    if (chunk !== '') yield chunk;
  }
  try {
    await client.query(target.createStaged);
    await pipeline(rows, client.query(from('copy staged from stdin')));
    await client.query('analyze staged');
    for (let attempt = 1; ; attempt++) {
      try {
        return await inTransaction(client, async () => {
          await client.query(target.lock);
          const [refused, refusedCount] = await takeRefused(client, target);
          const rejected = [...unreadable, ...refused].sort((a, b) => a.line - b.line).slice(0, REJECTED_LISTED_MAX);
          const rejectedCount = unreadableCount + refusedCount;
          const report = { readCount, insertedCount: 0, rejected, rejectedCount };
          if (rejectedCount > 0 && !skipBad) return report;
          const insertedCount = await target.insertStaged(client);
          onCommit?.();
          return { ...report, insertedCount };
        });
      } catch (error) {
        if (!isIdConflict(error) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  } catch (error) {
    throw toStorageError(error);
  } finally {
    await client.end().catch(() => {}); // its temporary table ends with it
  }
}

/** How often the transaction is tried. Each time the ids that others have taken meanwhile are refused. */
const ATTEMPTS_MAX = 5;

/** A unique violation, or a deadlock: an order that was placed while the transaction ran has an id of the import. */
const isIdConflict = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '23505' || error.code === '40P01');

/** Rows are sent to PostgreSQL in pieces of this length. */
const CHUNK_CHARACTERS = 65_536;

async function takeRefused(
  client: pg.Client,
  { noun, takeRefused: statement }: Pick<ImportTarget<never>, 'noun' | 'takeRefused'>,
): Promise<[refused: RejectedRecord[], count: number]> {
  type Refused = { line: number; id: string; is_taken: boolean; refused_count: number };
  const { rows } = await client.query<Refused>(statement);
  const refused = rows.map(({ line, id, is_taken: isTaken }) => ({
    line,
    reason: isTaken ? `${noun} with the id ${id} exists already` : `the id ${id} is repeated from an earlier line`,
  }));
  return [refused, rows[0]?.refused_count ?? 0];
}

/** A text as a column of a row; what COPY would take for a border or an escape is escaped. */
export const copyText = (text: string): string => text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '');

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
