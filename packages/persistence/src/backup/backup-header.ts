import { MIGRATION_NAMES } from '../schema/migration-names.ts';
import { BackupError } from './backup-error.ts';
import { SAVED_TABLES, type SavedTableName } from './saved-tables.ts';

/** The form of a backup's text. Another one is another number, and is read by no release before it. */
const VERSION = 1;

/** What a backup says of itself in its first line. */
export interface BackupHeader {
  readonly madeBy: string;
  readonly madeAt: Date;
  /** The last migration of the database, which says what its tables have. */
  readonly schema: string;
  /** How many rows each table has; one that the schema did not have is missing. */
  readonly rows: ReadonlyMap<SavedTableName, number>;
  /** The id that each generator would have given next. */
  readonly nextIds: ReadonlyMap<SavedTableName, bigint>;
  /** Up to where the log of events was deleted. */
  readonly eventsDeletedThrough: bigint;
}

/** How much a backup holds, in the words of operators. */
export interface BackupCounts {
  readonly orders: number;
  readonly pets: number;
  readonly keys: number;
  /** Of orders. */
  readonly events: number;
}

export const countsOf = ({ rows }: BackupHeader): BackupCounts => ({
  orders: rows.get('orders') ?? 0,
  pets: rows.get('pets') ?? 0,
  keys: rows.get('api_keys') ?? 0,
  events: rows.get('order_events') ?? 0,
});

/** Of all tables. */
export const totalRowsOf = ({ rows }: BackupHeader): number =>
  [...rows.values()].reduce((sum, count) => sum + count, 0);

/** One line of JSON. Ids are texts: a double would round them. */
export const encodeHeader = (header: BackupHeader): string =>
  JSON.stringify({
    petstoreBackup: VERSION,
    madeBy: header.madeBy,
    madeAt: header.madeAt.toISOString(),
    schema: header.schema,
    rows: Object.fromEntries(header.rows),
    nextIds: Object.fromEntries([...header.nextIds].map(([table, id]) => [table, String(id)])),
    eventsDeletedThrough: String(header.eventsDeletedThrough),
  });

/** @throws BackupError where this is no backup, or one of a newer release */
export function decodeHeader(line: string): BackupHeader {
  const fields = parseObject(line);
  const version = fields['petstoreBackup'];
  if (typeof version !== 'number') throw notABackup();
  const madeBy = textOf(fields['madeBy']);
  if (version !== VERSION) throw newer(madeBy, `its form is ${version}`);
  const schema = textOf(fields['schema']);
  if (!MIGRATION_NAMES.some((name) => name === schema)) throw newer(madeBy, `its schema is ${schema}`);
  return {
    madeBy,
    madeAt: new Date(textOf(fields['madeAt'])),
    schema,
    rows: byTable(fields['rows'], Number),
    nextIds: byTable(fields['nextIds'], BigInt),
    eventsDeletedThrough: BigInt(textOf(fields['eventsDeletedThrough'])),
  };
}

/** What a part of the text begins with: which table it is of, and its columns. */
export interface SectionHeader {
  readonly table: SavedTableName;
  readonly columns: readonly string[];
}

export const encodeSection = ({ table, columns }: SectionHeader): string => JSON.stringify({ table, columns });

/** The last line. */
export const END_LINE = JSON.stringify({ end: true });

/** @throws BackupError where the text names what this release does not have: names become a part of a statement */
export function decodeSection(line: string): SectionHeader {
  const { table, columns } = parseObject(line);
  if (!isSavedTable(table) || !Array.isArray(columns)) throw notABackup();
  const known: readonly string[] = SAVED_TABLES[table].columns;
  const unknown = columns.find((column) => !known.includes(column));
  if (columns.length === 0 || unknown !== undefined) throw notABackup();
  return { table, columns };
}

export const notABackup = (): BackupError => new BackupError('this is no backup, or only a part of one');

const newer = (madeBy: string, why: string): BackupError =>
  new BackupError(
    `the backup was made by a newer version of this program (${madeBy}: ${why}); restore it with that one`,
  );

function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>; // whatever its fields are
  } catch {
    // It is no JSON.
  }
  throw notABackup();
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw notABackup();
  return value;
}

const isSavedTable = (name: unknown): name is SavedTableName =>
  typeof name === 'string' && Object.hasOwn(SAVED_TABLES, name);

function byTable<Value>(fields: unknown, read: (value: string | number) => Value): ReadonlyMap<SavedTableName, Value> {
  if (typeof fields !== 'object' || fields === null) throw notABackup();
  return new Map(
    Object.entries(fields).map(([table, value]) => {
      if (!isSavedTable(table) || !/^\d+$/.test(String(value))) throw notABackup();
      return [table, read(value)];
    }),
  );
}
