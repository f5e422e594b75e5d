import { execFile } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from '../process/free-port.ts';
import {
  adoptServer,
  isAlive,
  type ServerProcess,
  type StopStep,
  spawnServer,
  stopServer,
} from '../process/server-process.ts';
import { commandAsUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { isPostmasterOf, readPostmasterFile } from './postmaster-file.ts';

/** A PostgreSQL data folder, and how to run it. */
export interface PostgresCluster {
  readonly binaries: PostgresBinaries;
  /** Absolute path of the data folder. */
  readonly folder: string;
  /** Where the server writes its log; begun anew at each start. */
  readonly logFile: string;
  /** The superuser's, in a file of one line, readable by `user`. Read when the folder is made. */
  readonly passwordFile: string;
  /** The user to run as; `undefined` is that of this process. */
  readonly user: UnprivilegedUser | undefined;
}

/** Server parameters by name, as in postgresql.conf. */
export type PostgresParameters = Readonly<Record<string, string | number>>;

export interface RunningPostgres {
  readonly port: number;
  readonly process: ServerProcess;
}

/** The superuser of every cluster made here. */
export const POSTGRES_USER = 'petstore';

/** SIGINT is PostgreSQL's fast stop (connections are cut, data is written), SIGQUIT the immediate one. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGINT', graceMs: 5_000 },
  { signal: 'SIGQUIT', graceMs: 2_000 },
  { signal: 'SIGKILL', graceMs: 1_000 },
];
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;
/** What passes by itself: the free port was taken in between, or the last processes of an earlier server still end. */
const PASSING_FAILURES = ['could not bind IPv4 address', 'shared memory block', 'lock file "postmaster.pid"'];
const START_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;

export const isInitialised = (cluster: PostgresCluster): boolean => existsSync(join(cluster.folder, 'PG_VERSION'));

export interface InitialiseOptions {
  /** Whether to wait until all of it is on the disk. */
  readonly flush: boolean;
  /** Breaks it off. The next attempt begins anew. */
  readonly signal?: AbortSignal | undefined;
  /** What compares text by its bytes. PostgreSQL before 17 has libc only. @default 'builtin' */
  readonly localeProvider?: keyof typeof LOCALE_ARGUMENTS;
  /** Parameters that hold while it is made, and for its servers. @default none */
  readonly parameters?: PostgresParameters;
}

/** Byte order, whichever locales the machine has. */
const LOCALE_ARGUMENTS = {
  builtin: ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  libc: ['--locale=C', '--locale-provider=libc'],
} as const;

/**
 * Makes the data folder. Byte order sorts text, so that no update of the machine's locales can break an index.
 *
 * @throws RuntimeError with the last words of initdb when it fails
 */
export async function initialiseCluster(
  cluster: PostgresCluster,
  { flush, signal, localeProvider = 'builtin', parameters = {} }: InitialiseOptions,
): Promise<void> {
  const { binaries, folder, passwordFile, user } = cluster;
  // Half a folder is left where an earlier attempt was cut off; PG_VERSION was not yet there, so nor is any data.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const { command, ...identity } = commandAsUser(
    [
      binaries.initdb,
      `--pgdata=${folder}`,
      `--username=${POSTGRES_USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...LOCALE_ARGUMENTS[localeProvider],
      '--no-instructions',
      ...(flush ? [] : ['--no-sync']),
      ...Object.entries(parameters).map(([name, value]) => `--set=${name}=${value}`),
    ],
    user,
    [dirname(folder), dirname(binaries.initdb)],
  );
  const [file, ...args] = command;
  const initdb = promisify(execFile)(file, args, { ...identity, cwd: '/', env: serverEnvironment(folder), signal });
  const exit = new Promise((resolve) => initdb.child.once('exit', resolve));
  try {
    await initdb;
  } catch (cause) {
    if (signal?.aborted) await exit; // it clears up after itself
    signal?.throwIfAborted();
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    throw new RuntimeError(`PostgreSQL could not make its data folder ${folder}: ${lastLine(output)}`, { cause });
  }
}

/**
 * Starts the server on a free port of the loopback interface.
 *
 * @throws RuntimeError with the server's own last words when it does not start
 */
export async function startPostgres(
  cluster: PostgresCluster,
  parameters: PostgresParameters,
  fixedPort?: number,
): Promise<RunningPostgres> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await findFreePort());
    const server = await spawnPostgres(cluster, parameters, port);
    if (await waitUntilReady(cluster.folder, server)) return { port, process: server };
    const log = readFileSync(cluster.logFile, 'utf8');
    if (attempt === START_ATTEMPTS || !PASSING_FAILURES.some((failure) => log.includes(failure))) {
      throw new RuntimeError(`PostgreSQL did not start: ${whyNotStarted(log)} (its log: ${cluster.logFile})`);
    }
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

export const stopPostgres = (server: ServerProcess): Promise<void> => stopServer(server, STOP_STEPS);

/**
 * Finds the server that runs on a data folder, whichever process started it, and waits until it is ready.
 *
 * @returns `undefined` where none runs, whatever an old postmaster.pid says
 */
export async function findRunningPostgres(folder: string): Promise<RunningPostgres | undefined> {
  const status = readPostmasterFile(folder);
  if (status === undefined || !isPostmasterOf(status.pid, folder)) return undefined;
  const server = adoptServer(status.pid);
  if (!(await waitUntilReady(folder, server))) return undefined;
  return { port: status.port, process: server };
}

async function spawnPostgres(
  cluster: PostgresCluster,
  parameters: PostgresParameters,
  port: number,
): Promise<ServerProcess> {
  const { binaries, folder, logFile, user } = cluster;
  const all = { ...parameters, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const settings = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [binaries.postgres, '-D', folder, ...settings] as const;
  const { command: asUser, ...identity } = commandAsUser(command, user, [dirname(folder), dirname(binaries.postgres)]);
  const log = openSync(logFile, 'w', 0o600);
  try {
    return await spawnServer(asUser, {
      ...identity,
      cwd: '/',
      env: serverEnvironment(folder),
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

/** Whether the server came up; false when its process ended first. */
async function waitUntilReady(folder: string, server: ServerProcess): Promise<boolean> {
  for (let waitedMs = 0; server.isRunning(); waitedMs += POLL_MS) {
    const status = readPostmasterFile(folder);
    if (status?.isReady && status.pid === server.pid) return true;
    if (waitedMs > START_TIMEOUT_MS) {
      await stopPostgres(server);
      return false;
    }
    await sleep(POLL_MS);
  }
  return false;
}

/**
 * The environment of PostgreSQL's programs. Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change
 * how a server runs.
 *
 * After a power cut the pid in postmaster.pid may be that of another process of the same user. PostgreSQL would then
 * refuse to start, except where it is the pid of its own "grandparent", which pg_ctl names in this variable (miscinit.c).
 * It goes on to see by the shared memory that no process of the former server is left.
 *
 * @param folder in which no server runs
 */
export function serverEnvironment(folder: string): NodeJS.ProcessEnv {
  const pid = readPostmasterFile(folder)?.pid ?? 0;
  const isReused = pid > 1 && isAlive(pid) && !isPostmasterOf(pid, folder);
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...(isReused && { PG_GRANDPARENT_PID: String(pid) }) };
}

const lastLine = (text: string): string => text.split('\n').at(-1) ?? '';

/** What it says of a folder that another major version has made. */
const OTHER_VERSION =
  /The data directory was (initialized by PostgreSQL version .+), which is not compatible with this/;

function whyNotStarted(log: string): string {
  const [, made] = OTHER_VERSION.exec(log) ?? [];
  return made === undefined
    ? lastComplaint(log)
    : `its data was ${made}; run it with the release that made it, or move it as docs/operations.md says ("A newer embedded PostgreSQL")`;
}

/** The last error in a log of PostgreSQL. */
export function lastComplaint(log: string): string {
  const complaint = log.split('\n').findLast((line) => /\b(?:FATAL|PANIC|ERROR):/.test(line));
  return complaint?.replace(/^.*?\b(?:FATAL|PANIC|ERROR):\s*/, '') ?? lastLine(log.trim());
}
