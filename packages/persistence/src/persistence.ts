import type { ApiKeyStore } from '@petstore/domain';
import type { ApiKeyAdministration } from './administration/api-key-administration.ts';
import { openApiKeyAdministration } from './administration/open-api-key-administration.ts';
import { STATEMENT_TIMEOUT_MS } from './connection-config.ts';
import { DatabaseServers } from './connections/database-servers.ts';
import type { SessionSettings } from './connections/session.ts';
import { createMigrations, type Migrations } from './schema/create-migrations.ts';
import { createApiKeyStore } from './statements/api-key-store.ts';
import { ConnectionOpener, pipelinedToReplica } from './statements/open-connection.ts';
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
  /** Several are the servers of one database, of which at most one takes writes. */
  readonly databaseUrl: string | readonly string[];
  /** A standby of that database, to read long lists from. */
  readonly replica?: { readonly url: string; readonly onChange?: (state: ReplicaState) => void } | undefined;
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
const SCAN_SESSION: SessionSettings = {
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  plan_cache_mode: 'force_custom_plan',
};

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
  const servers = new DatabaseServers(databaseUrl);
  const opener = new ConnectionOpener(servers);
  const pool = (size: number, settings: SessionSettings, forWrites: boolean) => {
    return new PipelinedConnections(opener.pipelined({ session: sessionOf(settings), forWrites }), size);
  };
  const pools: ConnectionPools = {
    reads: pool(readConnections, {}, false),
    writes: pool(writeConnections, COMMAND_SESSION, true),
    batches: pool(batchConnections, {}, false),
    scans: pool(scanConnections, SCAN_SESSION, false),
  };
  const replica = replicaOptions && openReplica(replicaOptions, pools, { batchConnections, scanConnections });
  const keyAdministration = openApiKeyAdministration(servers);

  const close = async () => {
    await Promise.all(
      [...Object.values(pools), ...(replica ? [replica] : []), keyAdministration].map((each) => each.close()),
    );
  };
  return {
    orders: createOrderStore(servers, pools, replica),
    pets: createPetStore(servers, pools),
    apiKeys: createApiKeyStore(pools),
    keyAdministration,
    migrations: createMigrations(servers, pools.reads),
    ping: async () => {
      await runStatement(pools.reads, PING, []);
    },
    replica,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const sessionOf = (settings: SessionSettings): SessionSettings => ({
  statement_timeout: String(STATEMENT_TIMEOUT_MS),
  ...settings,
});

function openReplica(
  { url, onChange }: NonNullable<PersistenceOptions['replica']>,
  { reads }: ConnectionPools,
  { batchConnections, scanConnections }: { readonly batchConnections: number; readonly scanConnections: number },
): Replica {
  const servers = new DatabaseServers(url);
  const pool = (size: number, settings: SessionSettings) =>
    new PipelinedConnections(pipelinedToReplica(servers, sessionOf(settings)), size);
  return new Replica({
    primary: reads,
    pools: { batches: pool(batchConnections, {}), scans: pool(scanConnections, SCAN_SESSION) },
    onChange,
  });
}
