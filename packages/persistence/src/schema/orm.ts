import { AsyncLocalStorage } from 'node:async_hooks';
import type { MigrationObject } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import * as entities from './entities.ts';
import { MIGRATIONS_TABLE } from './migration-list.ts';

const lent = new AsyncLocalStorage<pg.ClientBase>();

/** Runs work of MikroORM on a connection that the pool has lent for it: all of its statements, one after the other. */
export const onConnection = <Value>(client: pg.ClientBase, work: () => Promise<Value>): Promise<Value> =>
  lent.run(client, work);

/** MikroORM parses times itself. Those of its table of migrations have microseconds, which the pool's parser refuses. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) =>
    oid === pg.types.builtins.TIMESTAMPTZ ? (text: string) => text : pg.types.getTypeParser(oid, 'text'),
};

function connectionOf(client: pg.ClientBase | undefined): PostgresPoolClient {
  if (client === undefined) throw new Error('MikroORM is used outside of onConnection');
  const query = (text: string, values: unknown[]) => client.query({ text, values, types: TYPES });
  return { query, release: () => {} } as unknown as PostgresPoolClient; // nothing uses its overload for cursors
}

/** Kysely's dialect, by which MikroORM speaks to the database: its pool gives the connection that was lent. */
const DIALECT = new PostgresDialect({
  pool: { options: {}, connect: async () => connectionOf(lent.getStore()), end: async () => {} },
});

/** What the migrator needs to know. */
interface MigratorOptions {
  /** The name of the database of the lent connection: the migrator creates a database that it does not find. */
  readonly dbName: string;
  /** The schema of the tables. */
  readonly schema: string;
  readonly migrations: MigrationObject[];
}

/**
 * MikroORM without connections of its own: whatever reaches the database runs within {@link onConnection}. There is nothing
 * to close.
 */
export function createOrm(migrator?: MigratorOptions): MikroORM {
  return new MikroORM({
    dbName: migrator?.dbName ?? 'lent', // must be given; only the migrator uses it
    ensureDatabase: false,
    driverOptions: DIALECT,
    entities: Object.values(entities),
    ...(migrator && {
      schema: migrator.schema,
      extensions: [Migrator],
      migrations: {
        tableName: MIGRATIONS_TABLE,
        migrationsList: migrator.migrations,
        snapshot: false,
        silent: true,
        // No transaction around all, in which no index could be built concurrently; each migration has its own.
        allOrNothing: false,
      },
    }),
    forceUtcTimezone: true,
  });
}
