import type { ApiKeyStore } from '@petstore/domain';
import type { ApiKeyAdministration } from './administration/api-key-administration.ts';
import { openApiKeyAdministration } from './administration/open-api-key-administration.ts';
import { withSessionOptions } from './connection-config.ts';
import { createMigrations, type Migrations } from './schema/create-migrations.ts';
import { createApiKeyStore } from './statements/api-key-store.ts';
import { pipelinedConnectionsTo } from './statements/open-connection.ts';
import { createOrderStore, type OrderStore } from './statements/order-store.ts';
import { COMMAND_SESSION } from './statements/order-transitions.ts';
import { createPetStore, type PetStore } from './statements/pet-store.ts';
import { type ConnectionPools, PipelinedConnections } from './statements/pipelined-connections.ts';
import { assertDriverFits, prepareStatement, runStatement } from './statements/pipelined-query.ts';
import { Replica, type ReplicaReport, type ReplicaState } from './statements/replica.ts';

/** Everything that is kept in PostgreSQL. */
export interface Persistence extends AsyncDisposable {
  readonly orders: OrderStore;
  readonly pets: PetStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAdministration: ApiKeyAdministration;
  readonly migrations: Migrations;
  /** Where long lists have been read; `undefined` where there is no replica. */
  readonly replica: { readonly report: ReplicaReport } | undefined;
  /** @throws StorageUnavailableError when PostgreSQL does not respond */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface PersistenceOptions {
  readonly databaseUrl: string;
  /** A standby of that database, to read long lists from. */
  readonly replica?: { readonly url: string; onChange?(state: ReplicaState): void } | undefined;
  /** Connections for short reads. @default 2 */
  readonly readConnections?: number;
  /** Connections for statements that commit. More help, because a connection commits one by one. @default 8 */
  readonly writeConnections?: number;
  /** Connections for the batches of long listings. @default 4 */
  readonly batchConnections?: number;
  /** Connections for searches through all orders, each of which may keep a processor of the database busy. @default 2 */
  readonly scanConnections?: number;
}

/** A search takes one processor only; and which plan is best depends on how rare the orders are that it looks for. */
const SCAN_SESSION = '-c max_parallel_workers_per_gather=0 -c jit=off -c plan_cache_mode=force_custom_plan';

const PING = prepareStatement<readonly []>('ping', 'select');

/**
 * Gives access to PostgreSQL. Nothing is connected yet: connections are opened when they are first needed, and again
 * after PostgreSQL was away.
 *
 * Statements of the request path (list, cancel, ship, complete, place, key and pet look-ups) are prepared ones on
 * pipelined connections, in `statements/`. MikroORM has the schema, the migrations and the administration of keys. It is
 * kept out of the request path because hydrating an entity costs ten times the statement, and is loaded when it is first
 * needed because loading takes longer than a server's whole start.
 *
 * @throws Error where the installed version of pg is one that this package does not work with
 */
export function openPersistence({
  databaseUrl,
  replica: replicaOptions,
  readConnections = 2,
  writeConnections = 8,
  batchConnections = 4,
  scanConnections = 2,
}: PersistenceOptions): Persistence {
  assertDriverFits();
  const pool = (url: string, size: number) => new PipelinedConnections(pipelinedConnectionsTo(url), size);
  const pools: ConnectionPools = {
    reads: pool(databaseUrl, readConnections),
    writes: pool(withSessionOptions(databaseUrl, COMMAND_SESSION), writeConnections),
    batches: pool(databaseUrl, batchConnections),
    scans: pool(withSessionOptions(databaseUrl, SCAN_SESSION), scanConnections),
  };
  const replica =
    replicaOptions &&
    new Replica({
      primary: pools.reads,
      pools: {
        batches: pool(replicaOptions.url, batchConnections),
        scans: pool(withSessionOptions(replicaOptions.url, SCAN_SESSION), scanConnections),
      },
      onChange: replicaOptions.onChange?.bind(replicaOptions),
    });
  const keyAdministration = openApiKeyAdministration(databaseUrl);

  const close = async () => {
    await Promise.all(
      [...Object.values(pools), ...(replica ? [replica] : []), keyAdministration].map((each) => each.close()),
    );
  };
  return {
    orders: createOrderStore(databaseUrl, pools, replica),
    pets: createPetStore(databaseUrl, pools),
    apiKeys: createApiKeyStore(pools),
    keyAdministration,
    migrations: createMigrations(databaseUrl, pools.reads),
    ping: async () => {
      await runStatement(pools.reads, PING, []);
    },
    replica,
    close,
    [Symbol.asyncDispose]: close,
  };
}
