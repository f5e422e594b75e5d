import { pipeline } from 'node:stream/promises';
import { INT64_MAX } from '@petstore/domain';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import type { DatabaseServers } from '../connections/database-servers.ts';
import type { Migrations } from '../schema/create-migrations.ts';
import { BackupError, toBackupError } from './backup-error.ts';
import type { BackupHeader } from './backup-header.ts';
import { COPY_SESSION } from './copy-session.ts';
import { readHeader, readSections } from './read-backup.ts';
import { generatorOf, SAVED_TABLE_NAMES, TABLES_TO_BE_EMPTY } from './saved-tables.ts';
import { countLines, SectionReader } from './section-reader.ts';

export interface RestoreOptions {
  /** Whether the database may be migrated, before anything is restored. */
  readonly mayMigrate: boolean;
  /** Called once nothing is known to speak against it. */
  readonly onBegin?: (header: BackupHeader) => void;
  /** Called now and then with how many rows of all tables have been taken. */
  readonly onProgress?: (rowCount: number) => void;
  /** Called when all rows are there, and only the commit is left. */
  readonly onCommit?: () => void;
}

/** How long to wait for those who are writing to the database at the moment, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

/**
 * How far ahead of the saved log new events begin. Events recorded after the backup are lost, but their ids are not
 * reused: a consumer that has seen them would miss the new events with these ids.
 */
const LOST_EVENTS_MAX = 1_000_000_000n;

/**
 * Restores a backup into a database without rows, in one transaction. It commits only after the text has come to its end,
 * so that the source can still report that the backup is damaged.
 *
 * @throws BackupError, StorageUnavailableError, SchemaError, and what the text throws; nothing is restored then
 */
export async function restoreTables(
  servers: DatabaseServers,
  migrations: Migrations,
  text: AsyncIterable<Uint8Array>,
  options: RestoreOptions,
): Promise<BackupHeader> {
  const reader = new SectionReader(text);
  try {
    const header = await readHeader(reader);
    const { client } = await servers.open({ session: COPY_SESSION, forWrites: true });
    try {
      await assertEmpty(client); // before it is migrated, so that another database is not changed at all
      await migrations.prepare(options);
      await restoreAll(client, header, reader, options);
      return header;
    } finally {
      await client.end().catch(() => {}); // an open transaction ends with its connection
    }
  } catch (error) {
    throw toBackupError(error, 'petstore_owner');
  } finally {
    await reader.close();
  }
}

async function restoreAll(client: pg.Client, header: BackupHeader, reader: SectionReader, options: RestoreOptions) {
  options.onBegin?.(header);
  await client.query('begin');
  await lockTables(client);
  await assertEmpty(client);
  await restoreSections(client, header, reader, options.onProgress);
  await client.query(`analyze ${SAVED_TABLE_NAMES.join(', ')}`);
  await moveGenerators(client, header); // last, because no rollback undoes it
  options.onCommit?.();
  await client.query('commit');
}

/** No other connection can add a row until the transaction ends; reads go on. */
async function lockTables(client: pg.Client): Promise<void> {
  await client.query(`set local lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
  try {
    await client.query(`lock table ${TABLES_TO_BE_EMPTY.join(', ')} in share row exclusive mode`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE)) throw error;
    throw new BackupError('another connection is writing to the database', { cause: error });
  }
}

const LOCK_NOT_AVAILABLE = '55P03';

/** @throws BackupError */
async function assertEmpty(client: pg.Client): Promise<void> {
  const taken: string[] = [];
  for (const table of TABLES_TO_BE_EMPTY) {
    const { rows: found } = await client.query(`select from pg_class where oid = to_regclass('${table}')`);
    if (found.length === 0) continue; // it was not migrated yet
    const { rows } = await client.query(`select from ${table} limit 1`);
    if (rows.length > 0) taken.push(table);
  }
  if (taken.length > 0)
    throw new BackupError(`the database has rows already, in ${taken.join(', ')}: restore into an empty one`);
}

function restoreSections(
  client: pg.Client,
  header: BackupHeader,
  reader: SectionReader,
  onProgress: RestoreOptions['onProgress'] = () => {},
): Promise<void> {
  let rowCount = 0;
  async function* counted(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of rows) {
      yield chunk;
      rowCount += countLines(chunk);
      onProgress(rowCount);
    }
  }
  return readSections(reader, header, async ({ table, columns }, rows) => {
    const copy = from(`copy ${table} (${columns.join(', ')}) from stdin`);
    client.query(copy);
    try {
      await pipeline(counted(rows), copy);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && isRefusalOfRows(error))) throw error;
      await reader.drain(); // what is wrong with the row may be that the text was altered
      throw new BackupError(`the database refuses a row of ${table}: ${error.message}`, { cause: error });
    }
    return copy.rowCount;
  });
}

/** By the SQLSTATE's class: a value is malformed, or against a constraint. */
const isRefusalOfRows = ({ code = '' }: pg.DatabaseError): boolean => code.startsWith('22') || code.startsWith('23');

/** New ids follow those that were saved, and those that were drawn there since the snapshot was taken. */
async function moveGenerators(client: pg.Client, { nextIds, eventsDeletedThrough }: BackupHeader): Promise<void> {
  for (const [table, nextId] of nextIds) {
    const ahead = table === 'order_events' && nextId > 1n ? LOST_EVENTS_MAX : 0n;
    const generator = generatorOf(table);
    const own = `last_value::numeric + case when is_called then 1 else 0 end`;
    await client.query(
      `select setval('${generator}', least(greatest($1::numeric, ${own}), ${INT64_MAX})::bigint, false) from ${generator}`,
      [String(nextId + ahead)],
    );
  }
  await client.query('update order_events_deleted set through_id = greatest(through_id, $1::bigint)', [
    String(eventsDeletedThrough),
  ]);
}
