import type { ApiKeyStore } from '@petstore/domain';
import type { ApiKeyAdministration } from './administration/api-key-administration.ts';
import { type AuditTrail, createAuditTrail } from './administration/audit-trail.ts';
import { openApiKeyAdministration } from './administration/open-api-key-administration.ts';
import { SEARCH_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './connection-config.ts';
import { DatabaseServers, type OpenOptions } from './connections/database-servers.ts';
import type { SessionSettings } from './connections/session.ts';
import { createOrderEventStore, type OrderEventStore } from './events/order-events.ts';
import { openCopyPool } from './orders/copy-rows.ts';
import { createMigrations, type Migrations } from './schema/create-migrations.ts';
import { createApiKeyStore } from './statements/api-key-store.ts';
import { ConnectionOpener, type OpenConnection } from './statements/open-connection.ts';
import { createOrderStore, type OrderStore } from './statements/order-store.ts';
import { COMMAND_SESSION } from './statements/order-transitions.ts';
import { createPetStore, type PetStore } from './statements/pet-store.ts';
import { type ConnectionPools, PipelinedConnections } from './statements/pipelined-connections.ts';
import { assertDriverFits, prepareStatement, type QuerySender, runStatement } from './statements/pipelined-query.ts';
import type { DurationObserver } from './statements/pool-options.ts';
import type { ReplicaReport, ReplicaState } from './statements/replica.ts';
import { ServerPulse } from './statements/server-pulse.ts';

/** Everything that is kept in PostgreSQL. */
export interface Persistence extends AsyncDisposable {
  readonly orders: OrderStore;
  readonly pets: PetStore;
  readonly events: OrderEventStore;
  readonly apiKeys: ApiKeyStore;
  readonly keyAdministration: ApiKeyAdministration;
  readonly audit: AuditTrail;
  readonly migrations: Migrations;
  /** Where long lists have been read; `undefined` where there is no replica. */
  readonly replica: { readonly report: ReplicaReport } | undefined;
  /** The connections to the primary as they are at this moment. */
  pools(): readonly PoolReport[];
  /** @throws StorageUnavailableError when PostgreSQL does not respond */
  ping(): Promise<PingResult>;
  close(): Promise<void>;
}

/** Connections by what runs on them, as {@link ConnectionPools} says; `events`: what is read for those who follow orders. */
export const POOL_NAMES = ['keys', 'reads', 'writes', 'batches', 'scans', 'events'] as const;

export type PoolName = (typeof POOL_NAMES)[number];

export interface PoolReport {
  readonly name: PoolName;
  readonly openConnections: number;
  readonly statementsInFlight: number;
}

/** What PostgreSQL says of itself. */
export interface PingResult {
  /** Whether it carries out reads alone: a standby, or a server made read-only. */
  readonly isReadOnly: boolean;
}

export interface PersistenceOptions {
  /** Several are the servers of one database, of which at most one takes writes. */
  readonly databaseUrl: string | readonly string[];
  /** A standby of that database, to read long lists from. */
  readonly replica?:
    | { readonly urls: readonly string[]; readonly onChange?: (state: ReplicaState) => void }
    | undefined;
  /** Connections for pings and look-ups of keys. @default 2 */
  readonly keyConnections?: number;
  /** Connections for short reads. @default 2 */
  readonly readConnections?: number;
  /** Connections for statements that commit. More help, because a connection commits one by one. @default 8 */
  readonly writeConnections?: number;
  /** Connections for the batches of long listings. @default 4 */
  readonly batchConnections?: number;
  /** Connections for searches through all orders, each of which may keep a processor of the database busy. @default 2 */
  readonly scanConnections?: number;
  /** Called with the number of events that requests to this process have just recorded. Must be cheap and never throw. */
  readonly onEventsRecorded?: (count: number) => void;
  /** Gives what observes the statements of a pool of connections to the primary. */
  readonly durationsOf?: (pool: PoolName) => DurationObserver;
}

/** How long a search waits for a lock, and how long behind other searches, in milliseconds. */
const SEARCH_LOCK_TIMEOUT_MS = 1_000;
const SEARCH_QUEUE_PATIENCE_MS = 1_500;

/**
 * A search takes one processor only; and which plan is best depends on how rare the orders are that it looks for. It may
 * take longer than other statements, but not because it waits for something.
 */
const SCANS: PoolNeeds = {
  settings: {
    max_parallel_workers_per_gather: '0',
    jit: 'off',
    plan_cache_mode: 'force_custom_plan',
    lock_timeout: String(SEARCH_LOCK_TIMEOUT_MS),
  },
  timeoutMs: SEARCH_TIMEOUT_MS,
  queuePatienceMs: SEARCH_QUEUE_PATIENCE_MS,
};

/** Connections to read the log of events, for all followers: one for new events, one for older ones. */
const EVENT_CONNECTIONS = 2;

/** How long the first of two pings is waited for, in milliseconds. */
const FIRST_PING_MS = 700;

const PING = prepareStatement<readonly [isReadOnly: string]>('ping', `select current_setting('transaction_read_only')`);

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
  keyConnections = 2,
  readConnections = 2,
  writeConnections = 8,
  batchConnections = 4,
  scanConnections = 2,
  onEventsRecorded: onRecorded = () => {},
  durationsOf,
}: PersistenceOptions): Persistence {
  assertDriverFits();
  const pulse = new ServerPulse(() => pingUnasked(pools.keys, pools.reads));
  const servers = new DatabaseServers(databaseUrl);
  const opener = new ConnectionOpener(servers);
  const poolOf = poolsOn((needs) => opener.pipelined(needs), pulse);
  const pool = (name: PoolName, size: number, needs: PoolNeeds) => poolOf(size, needs, durationsOf?.(name));
  const pools: ConnectionPools = {
    keys: pool('keys', keyConnections, {}),
    reads: pool('reads', readConnections, {}),
    writes: pool('writes', writeConnections, { settings: COMMAND_SESSION, forWrites: true }),
    scans: pool('scans', scanConnections, SCANS),
  };
  const batches = openCopyPool(servers, batchConnections);
  const keyAdministration = openApiKeyAdministration(servers);
  const eventReads = pool('events', EVENT_CONNECTIONS, { forWrites: true });
  const events = createOrderEventStore(eventReads);

  const close = async () => {
    pulse.close();
    events.close();
    await Promise.all([...Object.values(pools), eventReads, keyAdministration].map((each) => each.close()));
    if (!batches.ending) await batches.end();
  };
  return {
    orders: createOrderStore(servers, pools, { batches, durations: durationsOf?.('batches'), onRecorded }),
    pets: createPetStore(servers, pools),
    events,
    apiKeys: createApiKeyStore(pools),
    keyAdministration,
    audit: createAuditTrail(servers, pools.writes),
    migrations: createMigrations(servers, pools.reads),
    replica: undefined,
    pools: () => [
      ...Object.entries({ ...pools, events: eventReads }).map(([name, each]) => reportOf(name as PoolName, each)), // its own keys
      {
        name: 'batches',
        openConnections: batches.totalCount,
        statementsInFlight: batches.totalCount - batches.idleCount,
      },
    ],
    ping: () => ping(pools),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const reportOf = (name: PoolName, { openCount, owedCount }: PipelinedConnections): PoolReport => ({
  name,
  openConnections: openCount,
  statementsInFlight: owedCount,
});

/** What the statements of a pool need of its connections. */
interface PoolNeeds {
  readonly settings?: SessionSettings;
  readonly forWrites?: boolean;
  readonly timeoutMs?: number;
  readonly queuePatienceMs?: number;
}

/** Makes pools of connections to the same server. */
function poolsOn(open: (needs: Pick<OpenOptions, 'session' | 'forWrites'>) => OpenConnection, pulse: ServerPulse) {
  return (
    size: number,
    { settings = {}, forWrites = false, timeoutMs = STATEMENT_TIMEOUT_MS, ...patience }: PoolNeeds,
    durations?: DurationObserver,
  ): PipelinedConnections => {
    const session = { statement_timeout: String(timeoutMs), ...settings };
    return new PipelinedConnections(open({ session, forWrites }), {
      size,
      statementTimeoutMs: timeoutMs,
      ...patience,
      pulse,
      durations,
    });
  };
}

async function ping({ keys, reads, writes }: ConnectionPools): Promise<PingResult> {
  // The first may meet a process of the server that is frozen, or look-ups that wait for a lock.
  const found = await pingBy(keys, FIRST_PING_MS).catch(() => pingBy(reads));
  // Another server may have taken over meanwhile.
  if (found.isReadOnly) return pingBy(writes).catch(() => found);
  // The server may have had room for some connections and not for these, without which most requests fail.
  for (const pool of [reads, writes]) if (pool.isShutOut) await pingBy(pool);
  return found;
}

/** Resolves when one of several kinds of connections has responded, whether or not the server hangs. */
const pingUnasked = (...pools: readonly PipelinedConnections[]): Promise<PingResult> =>
  Promise.any(pools.map((pool) => pingBy({ send: (query) => pool.sendUnasked(query) })));

async function pingBy(sender: QuerySender, patienceMs?: number): Promise<PingResult> {
  const [row] = await runStatement(sender, PING, [], patienceMs);
  return { isReadOnly: row?.[0] === 'on' };
}
