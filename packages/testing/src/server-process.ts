import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '@petstore/runtime';
import { commandAsUser, type UnprivilegedUser } from '@petstore/runtime/servers';

/** A server beside the tests: PostgreSQL, Redis or a pooler. */
export interface ServerProgram {
  /** For messages. */
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** The user that runs it. `undefined`: the user of this process. */
  readonly user?: UnprivilegedUser | undefined;
  /** The path of its log, which each start begins again. */
  readonly logFile: string;
  /** The text in its log that shows that it accepts connections. */
  readonly ready: RegExp;
  /** Stops it in order; its data is written. */
  readonly stopSignal: NodeJS.Signals;
}

const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 5_000;
const POLL_MS = 5;
/** Temporary failures: a port was taken in the meantime, or processes of an earlier server are still ending. */
const PASSING_FAILURES = /could not bind|Address already in use|shared memory block|lock file "postmaster.pid"/;
const START_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;

/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
export const SURROUNDINGS = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Starts a server. @throws RuntimeError with the server's log if the start fails */
export async function startServer(program: ServerProgram): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    const server = await spawnServer(program);
    if (await becomesReady(server, program)) return server;
    const log = readFileSync(program.logFile, 'utf8');
    if (attempt === START_ATTEMPTS || !PASSING_FAILURES.test(log)) {
      throw new RuntimeError(`${program.name} did not start:\n${log}`);
    }
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

/** In a session of its own: Ctrl-C in a terminal reaches only this process, which then stops the server last. */
async function spawnServer({ command, user, logFile }: ServerProgram): Promise<ChildProcess> {
  const [file, ...args] = commandAsUser(command, user);
  const log = openSync(logFile, 'w', 0o600);
  try {
    const server = spawn(file, args, { ...SURROUNDINGS, stdio: ['ignore', log, log], detached: true });
    server.unref(); // the last user stops the server, so this process need not wait
    await once(server, 'spawn');
    return server.on('error', () => {}); // a signal that cannot be sent
  } finally {
    closeSync(log);
  }
}

async function becomesReady(server: ChildProcess, { logFile, ready, stopSignal }: ServerProgram): Promise<boolean> {
  for (let waitedMs = 0; isRunning(server); waitedMs += POLL_MS) {
    if (ready.test(readFileSync(logFile, 'utf8'))) return true;
    if (waitedMs > START_TIMEOUT_MS) await stopServer(server, stopSignal);
    await sleep(POLL_MS);
  }
  return false;
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

/** Stops a server in order, frozen or not; by force if that takes longer than 5 s. */
export async function stopServer(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(server)) return;
  signalTree(server, 'SIGCONT'); // a frozen process obeys only SIGKILL
  server.kill(signal);
  const timer = setTimeout(() => signalTree(server, 'SIGKILL'), STOP_GRACE_MS);
  await once(server, 'exit');
  clearTimeout(timer);
}

/** Kills a server and its children: a child that outlived the server would still respond for a moment. */
export async function killServer(server: ChildProcess): Promise<void> {
  if (!isRunning(server)) return;
  const exit = once(server, 'exit');
  const children = signalTree(server, 'SIGKILL');
  await exit;
  while (children.some((pid) => !'ZX'.includes(stateOf(pid)))) await sleep(2); // dead, and not yet waited for
}

/** Signals a server and its children: PostgreSQL has one for each connection. @returns the children's ids */
export function signalTree(server: ChildProcess, signal: NodeJS.Signals): readonly number[] {
  const { pid = -1 } = server;
  if (signal !== 'SIGCONT') {
    // The server is frozen first: otherwise it might start another child before the signal.
    server.kill('SIGSTOP');
    while ('RSD'.includes(stateOf(pid) || '-'));
  }
  const children = childrenOf(pid); // read first: a dead server has none
  server.kill(signal);
  for (const child of children) {
    try {
      process.kill(child, signal);
    } catch {
      // The process has just ended.
    }
  }
  return children;
}

/** One letter, as in proc(5); none if the process has gone or the system is not Linux. */
const stateOf = (pid: number): string => /\) (\w)/.exec(readIfThere(`/proc/${pid}/stat`))?.[1] ?? '';

const childrenOf = (pid: number): readonly number[] =>
  (readIfThere(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? []).map(Number);

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/** Writes a file that only a user and root can read. @param user `undefined`: the user of this process */
export function writePrivately(file: string, text: string, user: UnprivilegedUser | undefined): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}
