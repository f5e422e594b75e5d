import type { MigrationObject } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type pg from 'pg';
import type { Database } from '../database/database.ts';
import { HUNG, reportOf, toStorageError } from '../database/errors.ts';
import { connectionConfig } from '../database/servers.ts';
import { LONG_SESSION, type SessionSettings, setSession } from '../database/session.ts';
import { type ResponseTimeouts, TIMEOUTS_MS, withDeadline } from '../database/timeouts.ts';
import * as entities from './entities.ts';
import { MIGRATIONS_TABLE } from './migration-names.ts';

/** The ORM's maximum of connections: for a migration's turn, its transaction, and statements outside of a transaction. */
const POOL_SIZE = 3;

interface OrmOptions {
  /** The timeout of statements on the server, in milliseconds; 0 is none. */
  readonly statementTimeoutMs: number;
  /** The schema of the tables, if they are migrated; otherwise the session's `search_path` finds them. */
  readonly schema?: string;
  readonly migrations?: MigrationObject[];
}

/**
 * Runs work with an ORM of its own, for the server that takes writes.
 *
 * @throws StorageUnavailableError, and any other error of the work
 */
export async function withOrm<Value>(
  database: Database,
  options: OrmOptions,
  work: (orm: MikroORM) => Promise<Value>,
): Promise<Value> {
  let isConnectionLost = false;
  const { timeouts } = database;
  const orm = createOrm(await database.locate(), timeouts, options, async (client, session) => {
    client.on('error', () => {
      isConnectionLost = true;
    });
    await withDeadline(setSession(client, session), timeouts.session, HUNG);
  });
  try {
    return await work(orm);
  } catch (error) {
    // If no connection could be opened, the ORM throws a plain error, as our own code might.
    if (reportOf(error) === undefined && !isConnectionLost) await database.locate();
    throw toStorageError(error, isConnectionLost);
  } finally {
    const closed = withDeadline(orm.close(), TIMEOUTS_MS.end, HUNG).catch(() => {});
    if (!isConnectionLost) await closed; // the ORM waits for ever for a transaction whose connection was lost
  }
}

function createOrm(
  url: string,
  timeouts: ResponseTimeouts,
  { statementTimeoutMs, schema, migrations = [] }: OrmOptions,
  prepare: (client: pg.ClientBase, session: SessionSettings) => Promise<void>,
): MikroORM {
  const session = { ...LONG_SESSION, statement_timeout: String(statementTimeoutMs) };
  return new MikroORM({
    clientUrl: url,
    driverOptions: {
      ...connectionConfig(url, timeouts),
      onConnect: (client: pg.ClientBase) => prepare(client, session),
      // The server's own timeout comes first; this one is for a server that hangs.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + 2_000 }),
    },
    pool: { min: 0, max: POOL_SIZE },
    entities: Object.values(entities),
    ...(schema !== undefined && { schema }),
    extensions: [Migrator],
    migrations: { tableName: MIGRATIONS_TABLE, migrationsList: migrations, snapshot: false, silent: true },
    forceUtcTimezone: true,
  });
}
