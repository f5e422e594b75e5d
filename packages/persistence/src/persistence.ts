import type { ApiKeyStore } from '@petstore/domain';
import { type AuditTrail, createAuditTrail } from './audit-trail.ts';
import { Database } from './database/database.ts';
import { PURPOSES, type Purpose } from './database/server-pool.ts';
import type { Availability } from './database/server-watch.ts';
import { DatabaseServers } from './database/servers.ts';
import type { DurationObserver } from './database/statement.ts';
import { OrderEventStore } from './events/order-events.ts';
import { createApiKeyStore } from './keys/api-key-store.ts';
import { ApiKeyAdministration } from './keys/key-administration.ts';
import { createOrderStore, type OrderStore } from './orders/order-store.ts';
import { createPetStore, type PetStore } from './pets/pet-store.ts';
import { createMigrations, type Migrations } from './schema/migrations.ts';

/**
 * Everything that is kept in PostgreSQL.
 *
 * While PostgreSQL cannot be used, whatever asks it throws StorageUnavailableError.
 */
export interface Persistence extends AsyncDisposable {
  readonly orders: OrderStore;
  readonly pets: PetStore;
  readonly events: OrderEventStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAdministration: ApiKeyAdministration;
  readonly audit: AuditTrail;
  readonly migrations: Migrations;
  /** The connections for requests, as they are at this moment. */
  load(): DatabaseLoad;
  /** @throws StorageUnavailableError it says why PostgreSQL cannot be used */
  ping(): Promise<PingResult>;
  /** @param observer called each time that PostgreSQL was looked at: about every half second, and after each ping */
  observe(observer: (seen: Availability) => void): void;
  close(): Promise<void>;
}

export interface DatabaseLoad {
  readonly openConnections: number;
  /** Statements that wait for a connection or for a response, by what they are for. */
  readonly statementsInFlight: Readonly<Record<Purpose, number>>;
}

/** What PostgreSQL says of itself. */
export interface PingResult {
  /** Whether it carries out reads alone: a standby, or a server made read-only. */
  readonly isReadOnly: boolean;
}

export interface PersistenceOptions {
  /** Several are the servers of one database, of which at most one takes writes. */
  readonly databaseUrl: string | readonly string[];
  /** Connections for the statements of requests; one more watches the server. Set by tests alone. @default 16 */
  readonly connections?: number;
  /** Gives what observes how long the statements of a purpose take. */
  readonly durationsOf?: (purpose: Purpose) => DurationObserver;
}

/**
 * Gives access to PostgreSQL. Nothing is connected yet: connections are opened when they are first needed, and again
 * after PostgreSQL was away.
 *
 * What each request runs (list, cancel, ship, complete, place, look-ups of keys and pets) are prepared statements on plain
 * pools of pg. Units of work (the schema, the administration of keys) are MikroORM's, which is loaded when it is first
 * needed, because that takes longer than a server's whole start.
 */
export function openPersistence({ databaseUrl, connections = 16, durationsOf }: PersistenceOptions): Persistence {
  const servers = new DatabaseServers(databaseUrl);
  const database = new Database({ servers, connections, durationsOf });
  const events = new OrderEventStore(database.sender('events'));
  const close = async () => {
    events.close();
    await database.close();
  };
  return {
    orders: createOrderStore(database, servers),
    pets: createPetStore(servers, database.sender('reads')),
    events,
    apiKeys: createApiKeyStore(database.sender('keys'), database.sender('writes')),
    keyAdministration: new ApiKeyAdministration(servers),
    audit: createAuditTrail(servers, database.sender('writes')),
    migrations: createMigrations(servers, database.sender('reads')),
    load: () => ({
      openConnections: database.openConnections,
      statementsInFlight: Object.fromEntries(
        PURPOSES.map((purpose) => [purpose, database.inFlight(purpose)]),
      ) as Record<Purpose, number>, // each purpose has one
    }),
    ping: () => database.ping(),
    observe: (observer) => database.observe(observer),
    close,
    [Symbol.asyncDispose]: close,
  };
}
