import type pg from 'pg';
import { to } from 'pg-copy-streams';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from '../schema/migration-names.ts';
import { BackupError, toBackupError } from './backup-error.ts';
import { type BackupHeader, END_LINE, encodeHeader, encodeSection, type SectionHeader } from './backup-header.ts';
import { COPY_SESSION } from './copy-session.ts';
import { generatorOf, SAVED_TABLE_NAMES, SAVED_TABLES, type SavedTableName } from './saved-tables.ts';
import { countLines, END_OF_ROWS } from './section-reader.ts';

export interface SaveOptions {
  /** Which release makes it. */
  readonly madeBy: string;
  readonly now: Date;
  /** Called now and then with how many rows of all tables have been read. */
  readonly onProgress?: (rowCount: number) => void;
}

/** A backup that is being made. It keeps a snapshot, and so a connection, until it is disposed of. */
export interface OpenBackup extends AsyncDisposable {
  readonly header: BackupHeader;
  /**
   * Its text, in lines: a header in JSON, then for each table a line in JSON and its rows as COPY writes them. Read once, as
   * fast as it is taken.
   *
   * @throws StorageUnavailableError
   */
  readonly text: AsyncGenerator<Uint8Array>;
}

/**
 * Begins a backup of all that is there at one moment, whatever is changed from then on. Nothing waits for it but a change
 * of the schema. A standby will do.
 *
 * @throws BackupError where there is nothing of ours, or what a newer release has added
 * @throws StorageUnavailableError
 */
export async function saveTables(servers: DatabaseServers, options: SaveOptions): Promise<OpenBackup> {
  const { client } = await servers.open({ session: COPY_SESSION, forWrites: false });
  const end = () => client.end().catch(() => {}); // it only read
  try {
    await client.query('begin isolation level repeatable read, read only');
    const schema = await findSchema(client);
    const sections = await findSections(client);
    const header: BackupHeader = {
      madeBy: options.madeBy,
      madeAt: options.now,
      schema,
      rows: await countRows(client, sections),
      ...(await findPositions(client, sections)),
    };
    const text = writeText(client, header, sections, options);
    return { header, text, [Symbol.asyncDispose]: () => text.return(undefined).then(end) };
  } catch (error) {
    await end();
    throw toBackupError(error, 'petstore_backup');
  }
}

/** The last migration. A database that lacks the latest ones is saved as it is. */
async function findSchema(client: pg.Client): Promise<string> {
  const names = await readColumn(client, `select name from ${MIGRATIONS_TABLE} order by id`).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === UNDEFINED_TABLE) return [];
    throw error;
  });
  const newer = names.filter((name) => !MIGRATION_NAMES.some((known) => known === name));
  if (newer.length > 0) {
    throw new BackupError(
      `the database was migrated by a newer version of this program (${newer.join(', ')}); make the backup with that one`,
    );
  }
  const schema = names.at(-1);
  if (schema === undefined) throw new BackupError('the database is empty: there is nothing to save');
  return schema;
}

const UNDEFINED_TABLE = '42P01';

/** The tables, with the columns that the schema of this database has. */
async function findSections(client: pg.Client): Promise<readonly SectionHeader[]> {
  const sections: SectionHeader[] = [];
  for (const table of SAVED_TABLE_NAMES) {
    // By the catalogue: the information schema hides what the role may not read, and it would be missing silently.
    const names = await readColumn(
      client,
      `select attname from pg_attribute where attrelid = to_regclass('${table}') and attnum > 0 and not attisdropped`,
    );
    const columns = SAVED_TABLES[table].columns.filter((column) => names.includes(column));
    if (columns.length > 0) sections.push({ table, columns });
  }
  return sections;
}

async function countRows(client: pg.Client, sections: readonly SectionHeader[]): Promise<BackupHeader['rows']> {
  const rows = new Map<SavedTableName, number>();
  for (const { table } of sections) {
    const [count] = await readColumn(client, `select count(*) from ${table}`);
    rows.set(table, Number(count));
  }
  return rows;
}

/** Generators are read last: they stand behind every id of the snapshot, which knows nothing of them. */
async function findPositions(
  client: pg.Client,
  sections: readonly SectionHeader[],
): Promise<Pick<BackupHeader, 'nextIds' | 'eventsDeletedThrough'>> {
  const nextIds = new Map<SavedTableName, bigint>();
  let eventsDeletedThrough = 0n;
  for (const { table } of sections) {
    if (SAVED_TABLES[table].hasGenerator) {
      const [next] = await readColumn(
        client,
        `select last_value::numeric + case when is_called then 1 else 0 end from ${generatorOf(table)}`,
      );
      nextIds.set(table, BigInt(next ?? 1));
    }
    if (table === 'order_events') {
      const [through] = await readColumn(client, 'select through_id from order_events_deleted');
      eventsDeletedThrough = BigInt(through ?? 0);
    }
  }
  return { nextIds, eventsDeletedThrough };
}

async function* writeText(
  client: pg.Client,
  header: BackupHeader,
  sections: readonly SectionHeader[],
  { onProgress }: SaveOptions,
): AsyncGenerator<Uint8Array> {
  let rowCount = 0;
  yield Buffer.from(`${encodeHeader(header)}\n`);
  for (const section of sections) {
    yield Buffer.from(`${encodeSection(section)}\n`);
    for await (const rows of readRows(client, section)) {
      yield rows;
      rowCount += countLines(rows);
      onProgress?.(rowCount);
    }
    yield Buffer.from(END_OF_ROWS);
  }
  yield Buffer.from(`${END_LINE}\n`);
}

/** Sorted, so that the same rows are the same text. A query, because COPY does not read a partitioned table by its name. */
async function* readRows(client: pg.Client, { table, columns }: SectionHeader): AsyncGenerator<Buffer> {
  try {
    yield* client.query(to(`copy (select ${columns.join(', ')} from ${table} order by ${columns[0]}) to stdout`));
  } catch (error) {
    throw toBackupError(error, 'petstore_backup');
  }
}

async function readColumn(client: pg.Client, text: string): Promise<string[]> {
  const { rows } = await client.query<string[]>({ text, rowMode: 'array' });
  return rows.map(([value]) => value as string); // each query here has one column, of texts, big integers or numerics
}
