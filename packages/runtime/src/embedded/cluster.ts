import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandAsUser, findUnprivilegedUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts';

/** The folder of a PostgreSQL, and how to run it. */
export interface Cluster {
  readonly programs: PostgresPrograms;
  readonly folder: string;
  /** Where its socket is: a folder that only its user can enter. */
  readonly socketFolder: string;
  readonly logFile: string;
  /** Whom it runs as. `undefined` is the user of this process. */
  readonly user: UnprivilegedUser | undefined;
}

/** The superuser, as which nothing is done but making the service's role. */
export const SUPERUSER = 'petstore';

/** The name of the socket, after the port. */
export const SOCKET = '.s.PGSQL.5432';

/** For a small machine that does other things too. What is committed is on the disk, and there are no replicas. */
const SETTINGS =
  'listen_addresses= port=5432 shared_buffers=256MB effective_cache_size=1GB work_mem=16MB maintenance_work_mem=128MB ' +
  'max_wal_size=2GB checkpoint_timeout=15min log_checkpoints=off random_page_cost=1.1 jit=off wal_level=minimal ' +
  'max_wal_senders=0 timezone=UTC log_timezone=UTC';
/** Text is sorted by its bytes, so that no update of the machine's locales can break an index. */
const INITDB =
  `--username=${SUPERUSER} --auth=trust --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8 ` +
  '--no-instructions';
/** Who reaches the socket needs no password. */
const ACCESS = 'local all all trust\n';
/** macOS keeps 104 bytes for a socket's path and the zero at its end; Linux has four more. */
const SOCKET_FOLDER_BYTES_MAX = 103 - `/${SOCKET}`.length;
const LOG_BYTES_MAX = 1_000_000;

/** @param dataFolder exists @throws RuntimeError where it is another user's, or this machine has no PostgreSQL of ours */
export async function findCluster(dataFolder: string): Promise<Cluster> {
  const root = fs.realpathSync(dataFolder);
  const folder = join(root, 'postgres');
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  let user = findUnprivilegedUser();
  if (fs.existsSync(folder)) {
    if (user === undefined) assertPrivate(folder, user);
    else user = fs.statSync(folder); // root may take over what an ordinary user began
  }
  // The same for every process, which TMPDIR may not be.
  const socketFolder = Buffer.byteLength(folder) > SOCKET_FOLDER_BYTES_MAX ? `/tmp/petstore-${hash}` : folder;
  return { programs: await findPostgresPrograms(), folder, socketFolder, logFile: join(root, 'postgres.log'), user };
}

/** @throws RuntimeError with the last words of initdb when it fails */
export async function createCluster(cluster: Cluster, signal: AbortSignal | undefined): Promise<void> {
  const { folder, programs, user } = cluster;
  const draft = `${folder}.${process.pid}`;
  fs.rmSync(draft, { recursive: true, force: true });
  try {
    makePrivate(draft, user);
    await run([programs.initdb, '--pgdata', draft, ...INITDB.split(' ')], cluster, signal);
    fs.renameSync(draft, folder);
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true });
    signal?.throwIfAborted();
    if (fs.existsSync(folder)) return; // another process was first
    const words = cause instanceof Error && 'stderr' in cause ? lastWords(String(cause.stderr)) : String(cause);
    throw new RuntimeError(`PostgreSQL could not make its data folder ${folder}: ${words}`, { cause });
  }
}

/** A server that was started. Whether it serves is seen by connecting to it. */
export interface StartedServer {
  readonly process: ChildProcess;
  /** The length of the log before, in bytes. */
  readonly logStart: number;
}

/** Starts the server in a session of its own: Ctrl-C in a terminal does not reach it, and it may outlive this process. */
export function startCluster({ folder, socketFolder, logFile, programs, user }: Cluster): StartedServer {
  makePrivate(socketFolder, user);
  const accessFile = join(folder, 'pg_hba.conf');
  // Clusters of earlier releases ask for a password.
  if (fs.readFileSync(accessFile, 'utf8') !== ACCESS) fs.writeFileSync(accessFile, ACCESS);
  const sockets = `unix_socket_directories="${socketFolder.replaceAll('"', '""')}"`;
  const settings = [...SETTINGS.split(' '), sockets].flatMap((setting) => ['-c', setting]);
  const [program, ...args] = commandAsUser([programs.postgres, '-D', folder, ...settings], user);
  const log = fs.openSync(logFile, 'a', 0o600);
  try {
    if (user !== undefined) fs.fchownSync(log, user.uid, user.gid);
    if (fs.fstatSync(log).size > LOG_BYTES_MAX) fs.ftruncateSync(log);
    const logStart = fs.fstatSync(log).size;
    const server = spawn(program, args, { ...surroundings(folder), detached: true, stdio: ['ignore', log, log] });
    server.on('error', () => {}); // it has no pid then
    server.unref();
    if (server.pid === undefined) throw new RuntimeError(`PostgreSQL did not start: ${program} cannot be run.`);
    return { process: server, logStart };
  } finally {
    fs.closeSync(log);
  }
}

/** Another server was first, or has not quite ended. */
const PASSING_FAILURE = /^$|lock file ".*" (?:already exists|is empty)|shared memory block/;

/** Why a server has ended, and whether that passes by itself. */
export function findFailure(
  { logFile }: Cluster,
  { logStart }: StartedServer,
): { readonly reason: string; readonly isPassing: boolean } {
  const log = fs.readFileSync(logFile).subarray(logStart).toString();
  const [, made] = /was (initialized by PostgreSQL version .+), which is not compatible with this/.exec(log) ?? [];
  const move =
    'run it with the release that made it, or move it as docs/operations.md says ("A newer embedded PostgreSQL")';
  const reason = made === undefined ? `${lastWords(log)} (its log: ${logFile})` : `its data was ${made}; ${move}`;
  return { reason, isPassing: PASSING_FAILURE.test(log) };
}

/** Ends the server: connections are cut, and data is written. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  const { folder, socketFolder, programs } = cluster;
  const stop = (mode: string) => run([programs.pg_ctl, 'stop', '-D', folder, '-w', '-t', '5', '-m', mode], cluster);
  await stop('fast').catch(() => stop('immediate'));
  if (socketFolder !== folder) fs.rmSync(socketFolder, { recursive: true, force: true });
}

function makePrivate(folder: string, user: UnprivilegedUser | undefined): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined && fs.lstatSync(folder).uid === 0) fs.lchownSync(folder, user.uid, user.gid);
  assertPrivate(folder, user);
}

function assertPrivate(folder: string, user: UnprivilegedUser | undefined): void {
  const stats = fs.lstatSync(folder);
  if (stats.isDirectory() && stats.uid === (user?.uid ?? process.getuid?.()) && (stats.mode & 0o077) === 0) return;
  throw new RuntimeError(`The folder ${folder} is another user's, or open to others. Set DATA_DIR to another.`);
}

async function run(command: readonly [string, ...string[]], { folder, user }: Cluster, signal?: AbortSignal) {
  const [program, ...args] = commandAsUser(command, user);
  const running = promisify(execFile)(program, args, { ...surroundings(folder), ...(signal && { signal }) });
  const closed = once(running.child, 'close').catch(() => {});
  await running.catch(async (error: unknown) => {
    if (signal?.aborted) await closed; // it clears up after itself
    throw error;
  });
}

/**
 * Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs.
 *
 * After a power cut the pid in postmaster.pid may be that of another process of the same user. PostgreSQL would then
 * refuse to start, except where it is the pid of its own "grandparent", which pg_ctl names in this variable (miscinit.c).
 * It goes on to see by the shared memory that no process of the former server is left.
 */
function surroundings(folder: string): { cwd: string; env: NodeJS.ProcessEnv } {
  const env: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  try {
    const [pid = ''] = fs.readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n');
    const isServer = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder);
    if (!isServer) env['PG_GRANDPARENT_PID'] = pid;
  } catch {
    // No such file, no such process, or no /proc.
  }
  return { cwd: '/', env };
}

/** The last error in what a program of PostgreSQL has written; but what follows from a full disk is not its reason. */
function lastWords(log: string): string {
  const lines = log.trim().split('\n');
  const complaints = lines.filter((line) => /\b(?:FATAL|PANIC|ERROR):/.test(line));
  const complaint = complaints.find((line) => line.includes('No space left')) ?? complaints.at(-1);
  return complaint?.replace(/^.*?\b(?:FATAL|PANIC|ERROR):\s*/, '') ?? lines.at(-1) ?? '';
}
