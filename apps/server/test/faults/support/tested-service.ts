import { setTimeout as sleep } from 'node:timers/promises';
import { openPersistence } from '@petstore/persistence';
import {
  openMovingAddress,
  PATIENCE_MS,
  type PrivatePostgres,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
  startRedisServer,
} from '@petstore/testing';
import { prepareServerDatabase } from '../../support/database.ts';
import { SpawnedServer, useDataFolder } from '../../support/spawned-server.ts';
import type { Sighting } from './order-history.ts';
import { query } from './stored-order.ts';

const SERVER_COUNT = 3;

/** So many that a list goes over two seams of batches, at 250 and at 4,250 orders, before those that clients place. */
const ORDERS_BEFORE = 4_300;

/** One of the servers. After a restart it is another process on another port. */
interface ServerSlot {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Ends the process as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, and is done when it is ready. */
  restart(): Promise<void>;
}

/** PostgreSQL with a synchronous standby, Redis, and servers that share them. */
export interface TestedService extends AsyncDisposable {
  readonly servers: readonly ServerSlot[];
  /** The PostgreSQL that takes writes. */
  readonly postgres: PrivatePostgres;
  /** The orders that were there before. */
  readonly initial: readonly Sighting[];
  /** Freezes PostgreSQL, the standby too. */
  freezePostgres(forMs: number): Promise<void>;
  /** Kills PostgreSQL, the standby too, and starts it again. */
  crashPostgres(downMs: number): Promise<void>;
  /**
   * Kills the PostgreSQL that takes writes, moves its address to the standby, and promotes that; a new standby takes the
   * place of the killed one.
   */
  failOver(times: FailoverTimes): Promise<void>;
}

interface FailoverTimes {
  /** For how long the standby has been away when the other is killed: what was written meanwhile is lost. */
  readonly awayMs: number;
  /** For how long there is only the standby, which takes no writes. */
  readonly readOnlyMs: number;
}

/**
 * A commit is acknowledged when it can be read from the standby, too. The servers read from it while it is the only one
 * there is; what was only written there, and not applied yet, would be missing then.
 */
const PRIMARY = { ...REPLICATION_PARAMETERS, synchronous_commit: 'remote_apply', max_connections: 200 } as const;

/** A standby that lost its primary comes back at once. */
const STANDBY = { synchronous: true, parameters: { wal_retrieve_retry_interval: '200ms' } } as const;

export async function startTestedService(): Promise<TestedService> {
  await using resources = new AsyncDisposableStack();
  const redis = resources.use(await startRedisServer());
  let primary = resources.use(await startPostgresServer(PRIMARY));
  const initial = await prepareOrders(primary.url);
  let standby = resources.use(await startPostgresStandby(primary, STANDBY));
  const address = resources.use(await openMovingAddress(primary.url));
  const environment = {
    DATABASE_URL: address.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
  };
  const servers = await Promise.all(
    Array.from({ length: SERVER_COUNT }, async (_, i) =>
      resources.use(await startSlot(`server ${i + 1}`, { ...environment, INSTANCES: String(SERVER_COUNT) })),
    ),
  );
  const owned = resources.move();
  return {
    servers,
    get postgres() {
      return primary;
    },
    initial,
    async freezePostgres(forMs) {
      standby.pause();
      primary.pause();
      await sleep(forMs);
      primary.resume();
      standby.resume();
    },
    async crashPostgres(downMs) {
      await standby.kill();
      await primary.kill();
      await sleep(downMs);
      await primary.restart();
      await standby.restart();
    },
    async failOver({ awayMs, readOnlyMs }) {
      const former = primary;
      if (awayMs > 0) await standby.kill();
      await sleep(awayMs);
      await former.kill();
      address.moveTo(standby.url);
      if (awayMs > 0) await standby.restart();
      await sleep(readOnlyMs);
      await standby.promote();
      primary = standby;
      await former[Symbol.asyncDispose]();
      standby = owned.use(await startPostgresStandby(primary, STANDBY));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function prepareOrders(databaseUrl: string): Promise<readonly Sighting[]> {
  await prepareServerDatabase(databaseUrl);
  await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
  await persistence.orders.generateOrders({ count: ORDERS_BEFORE, seed: 1, now: new Date() });
  // Not by the service's own list, which may be what is wrong.
  const rows = await query(databaseUrl, 'select id, pet_id, quantity, placed_at from orders order by id');
  return rows.map((row) => ({
    orderId: BigInt(String(row['id'])),
    petId: BigInt(String(row['pet_id'])),
    quantity: Number(row['quantity']),
    states: ['pending'],
    times: {
      placedAt: Number(row['placed_at']),
      shippedAt: undefined,
      completedAt: undefined,
      cancelledAt: undefined,
    },
  }));
}

async function startSlot(name: string, environment: Record<string, string>): Promise<ServerSlot & AsyncDisposable> {
  const folder = useDataFolder();
  let server = new SpawnedServer(folder.path, environment);
  let url = await server.url();
  return {
    name,
    get url() {
      return url;
    },
    get pid() {
      return server.pid;
    },
    async kill() {
      await server.stop('SIGKILL');
    },
    async restart() {
      server = new SpawnedServer(folder.path, environment);
      url = await server.url();
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
