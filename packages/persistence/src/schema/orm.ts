import type { MigrationObject } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type pg from 'pg';
import { connectionConfig, type DatabaseServers } from '../database/servers.ts';
import { setSession } from '../database/session.ts';
import {
  ApiKeyEntity,
  ApiKeySecretEntity,
  DeletedOrderEventsEntity,
  IdempotencyKeyEntity,
  KeyEventEntity,
  OrderEntity,
  OrderEventEntity,
  PetEntity,
} from './entities.ts';
import { MIGRATIONS_TABLE } from './migration-names.ts';

/** Connections that the ORM may hold: for the turn of a migration, its transaction, and what must not be in one. */
const POOL_SIZE = 3;

interface OrmOptions {
  /** When the server gives a statement up, in milliseconds; 0 never. */
  readonly statementTimeoutMs: number;
  readonly migrations?: MigrationObject[];
}

/**
 * Sets the ORM up, for the server that takes writes.
 *
 * @throws StorageUnavailableError
 */
export async function createOrm(
  servers: DatabaseServers,
  { statementTimeoutMs, migrations = [] }: OrmOptions,
): Promise<MikroORM> {
  const url = await servers.locate();
  return new MikroORM({
    clientUrl: url,
    driverOptions: {
      ...connectionConfig(url),
      onConnect: (client: pg.ClientBase) => setSession(client, { statement_timeout: String(statementTimeoutMs) }),
      // The server's own limit comes first; this one is for a server that hangs.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + 2_000 }),
    },
    pool: { min: 0, max: POOL_SIZE },
    entities: [
      OrderEntity,
      PetEntity,
      ApiKeyEntity,
      ApiKeySecretEntity,
      OrderEventEntity,
      DeletedOrderEventsEntity,
      KeyEventEntity,
      IdempotencyKeyEntity,
    ],
    extensions: [Migrator],
    migrations: { tableName: MIGRATIONS_TABLE, migrationsList: migrations, snapshot: false, silent: true },
    forceUtcTimezone: true,
  });
}
