import { execFile } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RuntimeError } from '@petstore/runtime';
import { commandAsUser, type PostgresPrograms, type UnprivilegedUser } from '@petstore/runtime/servers';
import { findFreePort } from './free-port.ts';
import { type ServerProcess, type StopStep, spawnServer, stopServer } from './server-process.ts';

/** A PostgreSQL data folder, and how to run it. */
export interface PostgresCluster {
  readonly programs: Pick<PostgresPrograms, 'initdb' | 'postgres'>;
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

export interface InitialiseOptions {
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

/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
const SURROUNDINGS = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Makes the data folder. Nothing waits until it is on the disk. */
export async function initialiseCluster(
  { programs, folder, passwordFile, user }: PostgresCluster,
  { localeProvider = 'builtin', parameters = {} }: InitialiseOptions,
): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const [file, ...args] = commandAsUser(
    [
      programs.initdb,
      `--pgdata=${folder}`,
      `--username=${POSTGRES_USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...LOCALE_ARGUMENTS[localeProvider],
      '--no-instructions',
      '--no-sync',
      ...Object.entries(parameters).map(([name, value]) => `--set=${name}=${value}`),
    ],
    user,
  );
  await promisify(execFile)(file, args, SURROUNDINGS);
}

/**
 * Starts the server on a free port of the loopback interface.
 *
 * @throws RuntimeError with the server's own log when it does not start
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
      throw new RuntimeError(`PostgreSQL did not start:\n${log}`);
    }
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

export const stopPostgres = (server: ServerProcess): Promise<void> => stopServer(server, STOP_STEPS);

async function spawnPostgres(
  { programs, folder, logFile, user }: PostgresCluster,
  parameters: PostgresParameters,
  port: number,
): Promise<ServerProcess> {
  const all = { ...parameters, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const settings = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(logFile, 'w', 0o600);
  try {
    return await spawnServer(commandAsUser([programs.postgres, '-D', folder, ...settings], user), {
      ...SURROUNDINGS,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

/** Whether the server came up, by what it writes of itself (PostgreSQL's miscadmin.h); false when it ended first. */
async function waitUntilReady(folder: string, server: ServerProcess): Promise<boolean> {
  for (let waitedMs = 0; server.isRunning(); waitedMs += POLL_MS) {
    const lines = readLines(join(folder, 'postmaster.pid'));
    if (Number(lines[0]) === server.pid && lines[7]?.trim() === 'ready') return true;
    if (waitedMs > START_TIMEOUT_MS) {
      await stopPostgres(server);
      return false;
    }
    await sleep(POLL_MS);
  }
  return false;
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return []; // it is not there yet
  }
}
