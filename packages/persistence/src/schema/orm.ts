import type { MigrationObject } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { clientOf } from '../connections/client-of-servers.ts';
import type { DatabaseServers } from '../connections/database-servers.ts';
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

/** Sets the ORM up. It connects when it is first used. */
export function createOrm(servers: DatabaseServers, { statementTimeoutMs, migrations = [] }: OrmOptions): MikroORM {
  return new MikroORM({
    clientUrl: servers.config.connectionString ?? '',
    driverOptions: {
      ...servers.config,
      Client: clientOf(servers, { statement_timeout: String(statementTimeoutMs) }),
      maxUses: 1, // later the server may be another, and a connection on which nothing begins is never given back
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
