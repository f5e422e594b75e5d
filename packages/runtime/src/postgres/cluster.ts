import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../errors.ts';
import { readNoFollow } from '../process/no-follow.ts';
import { makePrivate } from '../process/private-folder.ts';
import { lastWords, runTool, type ServerProgram } from '../process/server-process.ts';
import type { Command, UnprivilegedUser } from '../process/unprivileged-user.ts';
import type { PostgresPrograms } from './postgres-programs.ts';

/** A data folder of PostgreSQL, and how its server runs. */
export interface Cluster {
  readonly programs: PostgresPrograms;
  /** Absolute path of the data folder. */
  readonly folder: string;
  readonly logFile: string;
  /** The user that runs it; `undefined` is the user of this process. */
  readonly user: UnprivilegedUser | undefined;
}

/** Server parameters by name, as in postgresql.conf. */
export type PostgresParameters = Readonly<Record<string, string | number>>;

/** The superuser of every cluster made here. */
export const SUPERUSER = 'petstore';

/** Text is sorted by its bytes: no update of the machine's locales can break an index. */
const INITDB = [`--username=${SUPERUSER}`, '--encoding=UTF8', '--locale=C', '--no-instructions'];
/** The same by PostgreSQL itself, of version 17 or newer, instead of by the system. */
export const BUILTIN_LOCALE = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Makes the data folder, unless another process is faster.
 *
 * @param options more options of initdb
 * @throws RuntimeError with the last error of initdb if it fails
 */
export async function createCluster({ programs, folder, user }: Cluster, options: readonly string[]): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  fs.rmSync(draft, { recursive: true, force: true });
  try {
    makePrivate(draft, user);
    await runTool([programs.initdb, '--pgdata', draft, ...INITDB, ...options], user);
    fs.renameSync(draft, folder);
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true });
    if (fs.existsSync(folder)) return; // another process was first
    if (cause instanceof RuntimeError) throw cause;
    const words = cause instanceof Error && 'stderr' in cause ? lastWords(String(cause.stderr)) : String(cause);
    throw new RuntimeError(`PostgreSQL could not create its data folder ${folder}: ${words}`, { cause });
  }
}

/** The server of a data folder, to be started now. */
export function postgresProgram(cluster: Cluster, parameters: PostgresParameters): ServerProgram {
  const { programs, folder, logFile, user } = cluster;
  const settings = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    name: 'PostgreSQL',
    command: [programs.postgres, '-D', folder, ...settings],
    stopCommand: stopCommand(cluster, 'fast'),
    user,
    logFile,
    ready: /database system is ready to accept/, // a standby: read-only connections
    environment: { PG_GRANDPARENT_PID: findStalePid(folder) },
  };
}

/** `fast` cuts connections, and writes the data; after `immediate` the next start has to recover. */
const stopCommand = ({ programs, folder }: Cluster, mode: 'fast' | 'immediate'): Command => [
  programs.pg_ctl,
  'stop',
  `--pgdata=${folder}`,
  `--mode=${mode}`,
  // pg_ctl waits until no server runs on the folder, and somebody else may start the next one at once.
  '--no-wait',
];

/** Stops the server. Only its last user may call this, after locking out others. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  const { folder, user } = cluster;
  const pid = readPid(folder);
  for (const mode of ['fast', 'immediate'] as const) {
    if (pid === undefined || readPid(folder) !== pid) return;
    await runTool(stopCommand(cluster, mode), user).catch(() => {}); // it has just ended
    const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
    while (readPid(folder) === pid && performance.now() < deadlineMs) await sleep(POLL_MS);
  }
}

/** The process id of the server; PostgreSQL removes the file when it ends. */
function readPid(folder: string): number | undefined {
  try {
    return Number.parseInt(readNoFollow(join(folder, 'postmaster.pid')), 10);
  } catch {
    return undefined;
  }
}

/**
 * The pid of a server that was killed, if another process or thread has it now, as in a container that starts again: its
 * pids are nearly the same each time. PostgreSQL would not start then, not even by `pg_ctl start`, except that it passes
 * over the pid in the variable in which pg_ctl names its own parent (CreateLockFile in miscinit.c). It still checks by its
 * shared memory that no process of the killed server is left.
 */
function findStalePid(folder: string): string | undefined {
  try {
    const pid = readPid(folder);
    const isServer = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder);
    return isServer ? undefined : String(pid);
  } catch {
    return undefined; // no such process, or no /proc
  }
}
