import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { RuntimeError } from '../errors.ts';
import { SUPERUSER, stopCluster } from '../postgres/cluster.ts';
import { makePrivate } from '../process/private-folder.ts';
import { tryToStart } from '../process/server-process.ts';
import { prepareDataFolder } from './data-folder.ts';
import {
  createEmbeddedCluster,
  type EmbeddedCluster,
  embeddedProgram,
  findCluster,
  SOCKET,
} from './embedded-cluster.ts';

/** The PostgreSQL below a data folder, shared by a server and any number of commands. */
export interface EmbeddedPostgres {
  /** The address. Its role owns the schema `public`, and is no superuser. */
  readonly url: string;
  /** Does work while no other user of the database does its own exclusive work. */
  exclusively<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Ends our use. The last user to leave stops PostgreSQL. */
  release(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Whether a database is created if there is none. @default true */
  readonly mayCreate?: boolean;
  /** Called before a database is created, which takes seconds. */
  readonly onCreate?: () => void;
  /** Registers a server that runs `alone`, or `shared` with other shared ones. @default the user is not a server */
  readonly server?: 'alone' | 'shared';
  /** Called if PostgreSQL ends while it is used, as when it is killed. It is not started again. */
  readonly onEnd?: () => void;
  /** Aborts a start in progress, once the database is created. */
  readonly signal?: AbortSignal;
}

/** Advisory locks, because PostgreSQL releases those of a process that dies. The numbers are arbitrary, but unique here. */
const LOCKS = { use: 8_099_007_544, server: 8_099_007_545, work: 8_099_007_546 };
const SERVICE_ROLE = 'petstore_service';

/** Codes of PostgreSQL's errors. */
const NO_SUCH_ROLE = '28000';
const DISK_FULL = '53100';
const LOCK_TIMEOUT = '55P03';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 20;
/** The pause before another attempt to start if another server started first or is still stopping, in milliseconds. */
const RIVAL_PAUSE_MS = 200;
/** The pause before another attempt to use a PostgreSQL that was killed, in milliseconds. */
const REJOIN_PAUSE_MS = 1_000;
/** How long the lock of a server that was killed may remain, in milliseconds. */
const SERVER_LOCK_MS = 1_000;

/**
 * Uses the PostgreSQL below a data folder, and creates and starts it if necessary. Each user holds a shared lock on a
 * connection of its own. A user that leaves and then gets the lock exclusively is the last one, and stops PostgreSQL. If a
 * process is killed, its guard does so instead.
 *
 * Removes libpq's variables (PG...), which concern other databases, from the environment of this process.
 *
 * @throws RuntimeError, of one line, if PostgreSQL cannot run, or there is none and it may not be created
 * @throws AbortError
 */
export async function openEmbeddedPostgres(
  dataFolder: string,
  { mayCreate = true, onCreate, server, onEnd, signal }: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  // biome-ignore lint/style/noProcessEnv: they are taken away where pg reads them
  const environment = process.env;
  for (const name of Object.keys(environment)) if (/^PG[A-Z_]+$/.test(name)) delete environment[name];
  if (mayCreate || existsSync(dataFolder)) prepareDataFolder(resolve(dataFolder));
  if (!existsSync(join(dataFolder, 'postgres'))) {
    if (!mayCreate) {
      const advice = 'Set DATABASE_URL, or DATA_DIR to where it is.';
      throw new RuntimeError(`There is no database in ${dataFolder}, and DATABASE_URL is not set. ${advice}`);
    }
    onCreate?.();
    await createEmbeddedCluster(findCluster(dataFolder)).finally(() => signal?.throwIfAborted());
  }
  const cluster = findCluster(dataFolder);
  const guard = spawnGuard(dataFolder);
  const leaving = new AbortController();
  const ending = AbortSignal.any([leaving.signal, ...(signal === undefined ? [] : [signal])]);
  let use = joinUsers(cluster, { server, mayStart: true, signal: ending });
  (await use).once('end', rejoin);

  /** PostgreSQL cuts all connections when one of its processes was killed, and goes on. */
  function rejoin(): void {
    if (ending.aborted) return;
    use = joinAgain();
    use.catch(() => {}); // we have left; whoever waits for it is told
  }

  /** If PostgreSQL itself was killed, another process may start it later: we are then one of its users again. */
  async function joinAgain(): Promise<pg.Client> {
    for (let isTold = false; ; isTold = true) {
      try {
        const client = await joinUsers(cluster, { server, mayStart: false, signal: ending });
        return client.once('end', rejoin);
      } catch {
        ending.throwIfAborted();
        if (!isTold) onEnd?.();
        await sleep(REJOIN_PAUSE_MS, undefined, { signal: ending });
      }
    }
  }

  return {
    url: urlOf(cluster, SERVICE_ROLE),
    async exclusively(work) {
      const client = await use;
      await client.query(`SELECT pg_advisory_lock(${LOCKS.work})`);
      try {
        return await work();
      } finally {
        await client.query(`SELECT pg_advisory_unlock(${LOCKS.work})`).catch(() => {}); // a lost connection holds no lock
      }
    },
    async release() {
      leaving.abort();
      const hasLeft = await use
        .then((client) => leaveUsers(client, cluster))
        .then(
          () => true,
          () => false, // the connection was lost: the guard stops PostgreSQL if necessary
        );
      await guard.dismiss(hasLeft);
    },
  };
}

/** Stops PostgreSQL unless it has users. Called by the guard of a user that was killed. */
export async function stopUnused(dataFolder: string): Promise<void> {
  const cluster = findCluster(dataFolder);
  await leaveUsers(await joinUsers(cluster, { mayStart: false }), cluster);
}

interface JoinOptions {
  readonly server?: EmbeddedPostgresOptions['server'];
  /** Whether to start PostgreSQL if it is not running. */
  readonly mayStart: boolean;
  readonly signal?: AbortSignal;
}

/** Connects as another user. */
async function joinUsers(cluster: EmbeddedCluster, { server, mayStart, signal }: JoinOptions): Promise<pg.Client> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  let started: ChildProcess | undefined;
  let nobodyListens = !existsSync(join(cluster.socketFolder, SOCKET));
  for (; ; await sleep(POLL_MS)) {
    signal?.throwIfAborted();
    makePrivate(cluster.socketFolder, cluster.user); // otherwise others could have put a socket there
    if (nobodyListens && mayStart) {
      const loading = import('pg'); // takes as long as PostgreSQL
      started = await tryToStart(embeddedProgram(cluster), signal);
      await (started === undefined ? sleep(RIVAL_PAUSE_MS) : loading);
    }
    try {
      return await connectAsUser(cluster, server);
    } catch (error) {
      if (error instanceof RuntimeError) throw error;
      nobodyListens = hasCode(error, 'ENOENT', 'ECONNREFUSED');
      const isFull = hasCode(error, DISK_FULL);
      if ((nobodyListens && !mayStart) || isFull || performance.now() > deadlineMs) {
        started?.kill('SIGINT');
        throw new RuntimeError(`PostgreSQL cannot be used: ${error instanceof Error ? error.message : error}`);
      }
      // Otherwise it is starting or stopping, has too many users, or the connection broke.
    }
  }
}

/** Waits while the last user stops PostgreSQL, which ends this connection. */
async function connectAsUser(cluster: EmbeddedCluster, server: EmbeddedPostgresOptions['server']): Promise<pg.Client> {
  const client = await connect(cluster, SERVICE_ROLE).catch(async (error: unknown) => {
    if (hasCode(error, NO_SUCH_ROLE)) await createServiceRole(cluster);
    throw error; // the caller tries again, with the role that now exists
  });
  try {
    await client.query(`SELECT pg_advisory_lock_shared(${LOCKS.use})`);
    // While PostgreSQL is being stopped, the connection of the last user may end before ours, which frees the lock. But
    // PostgreSQL then accepts no new connection.
    await (await connect(cluster, SERVICE_ROLE)).end();
    if (server === undefined) return client;
    const take = server === 'alone' ? 'pg_advisory_lock' : 'pg_advisory_lock_shared';
    await client.query(`SET lock_timeout = ${SERVER_LOCK_MS}; SELECT ${take}(${LOCKS.server}); RESET lock_timeout`);
    return client;
  } catch (error) {
    await client.end();
    if (!hasCode(error, LOCK_TIMEOUT)) throw error;
    const folder = dirname(cluster.folder);
    throw new RuntimeError(
      `Another server already runs on the data folder ${folder}. Stop it, or set DATA_DIR to another.`,
    );
  }
}

async function leaveUsers(client: pg.Client, cluster: EmbeddedCluster): Promise<void> {
  const { rows } = await client.query<{ isLast: boolean }>(
    `SELECT pg_advisory_unlock_all(), pg_try_advisory_lock(${LOCKS.use}) AS "isLast"`,
  );
  if (rows[0]?.isLast) {
    const { folder, socketFolder } = cluster;
    if (socketFolder !== folder) rmSync(socketFolder, { recursive: true, force: true });
    await stopCluster(cluster);
  }
  await client.end();
}

/** The service's role owns everything in the schema, and has no other rights. */
async function createServiceRole(cluster: EmbeddedCluster): Promise<void> {
  const client = await connect(cluster, SUPERUSER);
  await client
    .query(`CREATE ROLE ${SERVICE_ROLE} LOGIN; ALTER SCHEMA public OWNER TO ${SERVICE_ROLE}`)
    .finally(() => client.end());
}

async function connect(cluster: EmbeddedCluster, role: string): Promise<pg.Client> {
  const { default: pg } = await import('pg'); // loaded here, because it takes a while
  const client = new pg.Client({ connectionString: urlOf(cluster, role) });
  client.on('error', () => {}); // 'end' follows
  await client.connect();
  return client;
}

const urlOf = ({ socketFolder }: EmbeddedCluster, role: string): string =>
  `postgres://${role}@localhost/postgres?host=${encodeURIComponent(socketFolder)}`;

const hasCode = (error: unknown, ...codes: readonly unknown[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(error.code);

/**
 * A shell in a session of its own, which survives when this process is killed. Its input ends with this process. The shell
 * then ends our use in our place, unless it was told before that we have left.
 */
function spawnGuard(dataFolder: string): { dismiss(hasLeft: boolean): Promise<void> } {
  const program = fileURLToPath(new URL('stop-unused.ts', import.meta.url));
  const script = 'read -r _ || exec "$0" "$1" "$2"';
  const guard = spawn('/bin/sh', ['-c', script, process.execPath, program, resolve(dataFolder)], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  guard.stdin.on('error', () => {}); // it was killed
  const ended = once(guard, 'exit').catch(() => {}); // without a shell there is no guard
  return {
    async dismiss(hasLeft) {
      guard.ref();
      guard.stdin.end(hasLeft ? 'left\n' : '');
      await ended;
    },
  };
}
