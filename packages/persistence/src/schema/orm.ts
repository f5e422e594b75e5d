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
  SchemaReleaseEntity,
} from './entities.ts';
import { MIGRATIONS_TABLE } from './migration-names.ts';

/** Connections that the ORM may hold: for the turn of a migration, its transaction, and what must not be in one. */
const POOL_SIZE = 3;

/** The schema generator compares names with the text of PostgreSQL's `regclass`. */
const READABLE_NAMES = { quote_all_identifiers: 'off' } as const;

interface OrmOptions {
  /** When the server gives a statement up, in milliseconds; 0 never. */
  readonly statementTimeoutMs: number;
  /** The schema of the tables, for what compares or migrates them; otherwise the session's `search_path` finds them. */
  readonly schema?: string;
  readonly migrations?: MigrationObject[];
}

const ENTITIES = [
  OrderEntity,
  PetEntity,
  ApiKeyEntity,
  ApiKeySecretEntity,
  OrderEventEntity,
  DeletedOrderEventsEntity,
  KeyEventEntity,
  IdempotencyKeyEntity,
  SchemaReleaseEntity,
];

export const TABLE_NAMES = ENTITIES.map(({ meta }) => meta.tableName);

/** Matches the names of all tables but those of the entities, with or without a schema before them. */
const TABLES_OF_OTHERS = new RegExp(`^(?!(?:.*\\.)?(?:${TABLE_NAMES.join('|')})$)`);

/** Sets the ORM up. It connects when it is first used. */
export function createOrm(
  servers: DatabaseServers,
  { statementTimeoutMs, schema, migrations = [] }: OrmOptions,
): MikroORM {
  return new MikroORM({
    clientUrl: servers.config.connectionString ?? '',
    driverOptions: {
      ...servers.config,
      Client: clientOf(servers, { statement_timeout: String(statementTimeoutMs), ...READABLE_NAMES }),
      maxUses: 1, // later the server may be another, and a connection on which nothing begins is never given back
      // The server's own limit comes first; this one is for a server that hangs.
      ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + 2_000 }),
    },
    pool: { min: 0, max: POOL_SIZE },
    entities: ENTITIES,
    ...(schema !== undefined && { schema }),
    schemaGenerator: { skipTables: [TABLES_OF_OTHERS] },
    extensions: [Migrator],
    migrations: { tableName: MIGRATIONS_TABLE, migrationsList: migrations, snapshot: false, silent: true },
    forceUtcTimezone: true,
  });
}
