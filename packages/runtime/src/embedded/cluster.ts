import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { commandAsUser, findUnprivilegedUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import { findPostgresPrograms } from './postgres-programs.ts';

/** The folder of a PostgreSQL server, and how to run the server. */
export interface Cluster {
  readonly folder: string;
  /** The folder of its socket, which only its user can enter. */
  readonly socketFolder: string;
  readonly logFile: string;
  /** The user that runs it; `undefined` is the user of this process. */
  readonly user: UnprivilegedUser | undefined;
}

/** The superuser. It only creates the service's role. */
export const SUPERUSER = 'petstore';

/** The name of the socket, which ends in the port. */
export const SOCKET = '.s.PGSQL.5432';

/** For a small machine that does other things too. Commits reach the disk, and there are no replicas. */
const SETTINGS =
  'listen_addresses= port=5432 shared_buffers=256MB effective_cache_size=1GB work_mem=16MB maintenance_work_mem=128MB ' +
  'max_wal_size=2GB checkpoint_timeout=15min log_checkpoints=off random_page_cost=1.1 jit=off wal_level=minimal ' +
  'max_wal_senders=0 timezone=UTC log_timezone=UTC';
/**
 * Text is sorted by its bytes: no update of the machine's locales can break an index. The socket needs no password, because
 * only its user can reach it.
 */
const INITDB =
  `--username=${SUPERUSER} --auth=trust --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8 ` +
  '--no-instructions';
/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
/** macOS limits a socket's path to 104 bytes with its final zero; Linux allows four more. */
const SOCKET_FOLDER_BYTES_MAX = 103 - `/${SOCKET}`.length;
const LOG_BYTES_MAX = 1_000_000;
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/** @param dataFolder an existing folder */
export function findCluster(dataFolder: string): Cluster {
  const root = fs.realpathSync(dataFolder);
  const folder = join(root, 'postgres');
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  // The fallback must be the same for every process, which TMPDIR may not be.
  const socketFolder = Buffer.byteLength(folder) > SOCKET_FOLDER_BYTES_MAX ? `/tmp/petstore-${hash}` : folder;
  const isOthers = process.getuid?.() === 0 && fs.existsSync(folder); // root may continue to use another user's folder
  const user = isOthers ? fs.statSync(folder) : findUnprivilegedUser();
  return { folder, socketFolder, logFile: join(root, 'postgres.log'), user };
}

/** @throws RuntimeError with the last error of initdb if it fails */
export async function createCluster({ folder, user }: Cluster): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  fs.rmSync(draft, { recursive: true, force: true });
  try {
    makePrivate(draft, user);
    const command = [findPostgresPrograms().initdb, '--pgdata', draft, ...INITDB.split(' ')] as const;
    const [program, ...args] = commandAsUser(command, user);
    await promisify(execFile)(program, args, { cwd: '/', env: ENVIRONMENT });
    fs.renameSync(draft, folder);
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true });
    if (fs.existsSync(folder)) return; // another process was first
    if (cause instanceof RuntimeError) throw cause;
    const words = cause instanceof Error && 'stderr' in cause ? lastWords(String(cause.stderr)) : String(cause);
    throw new RuntimeError(`PostgreSQL could not make its data folder ${folder}: ${words}`, { cause });
  }
}

/** A server process. It serves if a connection to it succeeds. */
export interface StartedServer {
  /** Why the server has ended, and whether starting it again will help; `undefined` while it runs. */
  failure(): { readonly reason: string; readonly isPassing: boolean } | undefined;
  /** Ends the server if nobody could connect to it. */
  stop(): void;
}

/** Another server started first, or is still stopping. */
const PASSING_FAILURE = /^$|lock file ".*" (?:already exists|is empty)|shared memory block/;

/** Starts the server in a session of its own: Ctrl-C in a terminal does not reach it, and it may outlive this process. */
export function startCluster({ folder, socketFolder, logFile, user }: Cluster): StartedServer {
  const sockets = `unix_socket_directories="${socketFolder.replaceAll('"', '""')}"`;
  const settings = [...SETTINGS.split(' '), sockets].flatMap((setting) => ['-c', setting]);
  const [program, ...args] = commandAsUser([findPostgresPrograms().postgres, '-D', folder, ...settings], user);
  const log = fs.openSync(logFile, 'a', 0o600);
  try {
    if (user !== undefined) fs.fchownSync(log, user.uid, user.gid);
    if (fs.fstatSync(log).size > LOG_BYTES_MAX) fs.ftruncateSync(log);
    const logStart = fs.fstatSync(log).size;
    const env = { ...ENVIRONMENT, PG_GRANDPARENT_PID: findStalePid(folder) };
    const server = spawn(program, args, { cwd: '/', env, detached: true, stdio: ['ignore', log, log] });
    server.on('error', () => {}); // the process then has no pid
    server.unref();
    if (server.pid === undefined) throw new RuntimeError(`PostgreSQL did not start: ${program} cannot be run.`);
    return {
      failure() {
        if (server.exitCode === null && server.signalCode === null) return undefined;
        const words = fs.readFileSync(logFile).subarray(logStart).toString();
        const isPassing = server.exitCode === 0 || PASSING_FAILURE.test(words);
        return { reason: `${lastWords(words)} (its log: ${logFile})`, isPassing };
      },
      stop: () => void server.kill('SIGINT'),
    };
  } finally {
    fs.closeSync(log);
  }
}

/** Stops the server: cuts connections, and writes the data. Only its last user may call this, after locking out others. */
export async function stopCluster({ folder, socketFolder }: Cluster): Promise<void> {
  const pid = readPid(folder);
  if (pid === undefined) return;
  if (socketFolder !== folder) fs.rmSync(socketFolder, { recursive: true, force: true });
  // First the fast stop, then the immediate one, after which the next start has to recover.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(pid, signal);
    const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
    // The next server may start at once, and write its own file.
    while (readPid(folder) === pid && performance.now() < deadlineMs) await sleep(POLL_MS);
    if (readPid(folder) !== pid) return;
  }
}

/** Makes a folder that only its user can enter, if there is none. @throws RuntimeError if it belongs to another user */
export function makePrivate(folder: string, user: UnprivilegedUser | undefined): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined && fs.lstatSync(folder).uid === 0) fs.lchownSync(folder, user.uid, user.gid);
  const stats = fs.lstatSync(folder);
  if (stats.isDirectory() && stats.uid === (user?.uid ?? process.getuid?.()) && (stats.mode & 0o077) === 0) return;
  throw new RuntimeError(`The folder ${folder} is another user's, or open to others. Set DATA_DIR to another.`);
}

/** The process id of the server; PostgreSQL removes the file when it ends. */
function readPid(folder: string): number | undefined {
  try {
    return Number.parseInt(fs.readFileSync(join(folder, 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/**
 * The pid of a server that was killed, if another process has that pid now. PostgreSQL would refuse to start because of
 * that process, unless a variable that pg_ctl also sets names the pid as its "grandparent" (miscinit.c). PostgreSQL then
 * still checks by its shared memory that no process of the killed server is left.
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

/** The last error that a PostgreSQL program has logged, except for errors that follow from a full disk. */
function lastWords(log: string): string {
  const lines = log.trim().split('\n');
  const errors = lines.filter((line) => /\b(?:FATAL|PANIC|ERROR|error):/.test(line));
  const error = errors.find((line) => line.includes('No space left')) ?? errors.at(-1) ?? lines.at(-1) ?? '';
  const next = lines[lines.indexOf(error) + 1];
  const detail = next?.includes(' DETAIL: ') ? `. ${textOf(next)}` : '';
  return textOf(error) + detail;
}

/** A log line without its time and process. */
const textOf = (line: string): string => line.replace(/^.*?\b(?:[A-Z]+|error):\s+/, '');
