import type { ApiKeyStore } from '@petstore/domain';
import { type AuditTrail, createAuditTrail } from './audit-trail.ts';
import type { Availability } from './database/availability.ts';
import { Database, type DatabaseOptions } from './database/database.ts';
import type { DatabaseLoad } from './database/pool.ts';
import { createOrderEvents, type OrderEventStore } from './events/order-events.ts';
import { createApiKeyStore } from './keys/api-key-store.ts';
import { type ApiKeyAdministration, createKeyAdministration } from './keys/key-administration.ts';
import { createOrderStore, type OrderStore } from './orders/order-store.ts';
import { createPetStore, type PetStore } from './pets/pet-store.ts';
import { createMigrations, type Migrations } from './schema/migrations.ts';
import { createUnitsOfWork } from './schema/units-of-work.ts';
import { createSequences, type Sequences } from './sequences.ts';

/**
 * Everything that is stored in PostgreSQL.
 *
 * While PostgreSQL cannot be used, every member that needs it throws StorageUnavailableError.
 */
export interface Persistence extends AsyncDisposable {
  readonly orders: OrderStore;
  readonly pets: PetStore;
  readonly events: OrderEventStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAdministration: ApiKeyAdministration;
  readonly audit: AuditTrail;
  readonly migrations: Migrations;
  readonly sequences: Sequences;
  /** Loads MikroORM. Otherwise the first call of `keyAdministration` or `findPet` does, and waits. */
  loadOrm(): Promise<void>;
  /** The present load of the connections for requests. */
  load(): DatabaseLoad;
  /** @throws StorageUnavailableError with the reason why PostgreSQL cannot be used */
  ping(): Promise<void>;
  /** @param observer called after each check of PostgreSQL: about every half second, and at each ping; must not throw */
  observe(observer: (seen: Availability) => void): void;
  close(): Promise<void>;
}

/**
 * Gives access to PostgreSQL. Nothing is connected yet: connections are opened when they are first needed, and again
 * after PostgreSQL was unavailable.
 *
 * All of it runs on one pool of connections. The README says what uses MikroORM, its query builder or SQL.
 */
export function openPersistence(options: DatabaseOptions): Persistence {
  const database = new Database(options);
  const events = createOrderEvents(database);
  const units = createUnitsOfWork(database);
  const close = () => database.close();
  return {
    orders: createOrderStore(database),
    pets: createPetStore(database, units),
    events,
    apiKeys: createApiKeyStore(database),
    keyAdministration: createKeyAdministration(units),
    audit: createAuditTrail(database),
    migrations: createMigrations(database),
    sequences: createSequences(database),
    loadOrm: () => units.load(),
    load: () => database.load(),
    ping: () => database.ping(),
    observe: (observer) => database.observe(observer),
    close,
    [Symbol.asyncDispose]: close,
  };
}
