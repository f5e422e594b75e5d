import type { ApiKeyStore, Order, OrderRepository, Pet, PetRepository } from '@petstore/domain';
import { type ApiKeyAdministration, openApiKeyAdministration } from './administration/api-key-administration.ts';
import type { GenerateOptions } from './bulk/generate-orders.ts';
import type { ImportOptions, ImportRecord, ImportResult } from './bulk/import-rows.ts';
import { withSessionOptions } from './connection-config.ts';
import { createMigrations, type Migrations } from './migrations.ts';
import { PostgresApiKeyStore } from './statements/api-key-store.ts';
import { COMMAND_SESSION } from './statements/order-commands.ts';
import { PostgresOrderStore } from './statements/order-store.ts';
import { PostgresPetStore } from './statements/pet-store.ts';
import { PipelinedConnections } from './statements/pipelined-connections.ts';
import { prepareStatement, runStatement } from './statements/prepared-statement.ts';

export interface OrderStore extends OrderRepository {
  /**
   * Takes in orders with the ids that they have.
   *
   * @throws StorageUnavailableError, and whatever the source throws; nothing is imported then
   */
  importOrders(orders: AsyncIterable<ImportRecord<Order>>, options?: ImportOptions): Promise<ImportResult>;
  /** @returns how many there are now more */
  generateOrders(options: GenerateOptions): Promise<number>;
}

export interface PetStore extends PetRepository {
  /** As {@link OrderStore.importOrders}. */
  importPets(pets: AsyncIterable<ImportRecord<Pet>>, options?: ImportOptions): Promise<ImportResult>;
}

/** Everything that is kept in PostgreSQL. */
export interface Persistence extends AsyncDisposable {
  readonly orders: OrderStore;
  readonly pets: PetStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAdministration: ApiKeyAdministration;
  readonly migrations: Migrations;
  /** @throws StorageUnavailableError when PostgreSQL does not answer */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface PersistenceOptions {
  readonly databaseUrl: string;
  /** Connections for short reads. @default 2 */
  readonly readConnections?: number;
  /** Connections for statements that commit; they gain from more, because each commits one after the other. @default 8 */
  readonly writeConnections?: number;
  /** Connections for the batches of long listings. @default 4 */
  readonly batchConnections?: number;
  /** Connections for searches through all orders; so many processors of the database do they keep busy. @default 2 */
  readonly scanConnections?: number;
}

/**
 * A search takes one processor, not all that there are; and which plan is best depends on how rare is what it looks for.
 */
const SCAN_SESSION = '-c max_parallel_workers_per_gather=0 -c jit=off -c plan_cache_mode=force_custom_plan';

const PING = prepareStatement<readonly []>('ping', 'select');

/**
 * Opens the door to PostgreSQL. Nothing is connected yet: connections are made when they are first needed, and again
 * after PostgreSQL was away.
 *
 * Statements of the request path (list, cancel, ship, complete, place, key and pet look-ups) are prepared ones on
 * pipelined connections, in `statements/`. MikroORM has the rest: the schema, the migrations and the administration of
 * keys. It is left out of the request path because to hydrate an entity costs ten times the statement, and is loaded
 * when it is first needed because loading takes longer than a server's whole start.
 */
export function openPersistence({
  databaseUrl,
  readConnections = 2,
  writeConnections = 8,
  batchConnections = 4,
  scanConnections = 2,
}: PersistenceOptions): Persistence {
  const reads = new PipelinedConnections(databaseUrl, readConnections);
  const writes = new PipelinedConnections(withSessionOptions(databaseUrl, COMMAND_SESSION), writeConnections);
  const batches = new PipelinedConnections(databaseUrl, batchConnections);
  const scans = new PipelinedConnections(withSessionOptions(databaseUrl, SCAN_SESSION), scanConnections);
  const keyAdministration = openApiKeyAdministration(databaseUrl);

  const close = async () => {
    await Promise.all([reads.close(), writes.close(), batches.close(), scans.close(), keyAdministration.close()]);
  };
  return {
    orders: new PostgresOrderStore(databaseUrl, { reads, writes, batches, scans }),
    pets: new PostgresPetStore(databaseUrl, reads),
    apiKeys: new PostgresApiKeyStore(reads, writes),
    keyAdministration,
    migrations: createMigrations(databaseUrl, reads),
    ping: async () => {
      await runStatement(reads, PING, []);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
