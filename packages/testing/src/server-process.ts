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
  /** Whom to run it as. `undefined`: the user of this process. */
  readonly user?: UnprivilegedUser | undefined;
  /** Where it writes its log; begun anew at each start. */
  readonly logFile: string;
  /** What its log says once it accepts connections. */
  readonly ready: RegExp;
  /** Ends it in order, data written. */
  readonly stopSignal: NodeJS.Signals;
}

const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 5_000;
const POLL_MS = 5;
/** What passes by itself: a port was taken in between, or the last processes of an earlier server still end. */
const PASSING_FAILURES = /could not bind|Address already in use|shared memory block|lock file "postmaster.pid"/;
const START_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;

/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
export const SURROUNDINGS = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Starts a server. @throws RuntimeError with its own log when it does not come up */
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

/** In a session of its own: Ctrl-C in a terminal reaches only us, and we stop it, last. */
async function spawnServer({ command, user, logFile }: ServerProgram): Promise<ChildProcess> {
  const [file, ...args] = commandAsUser(command, user);
  const log = openSync(logFile, 'w', 0o600);
  try {
    const server = spawn(file, args, { ...SURROUNDINGS, stdio: ['ignore', log, log], detached: true });
    server.unref(); // its last user stops it, so this process need not stay for it
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

/** Ends a server in order, frozen or not; by force where that takes longer than 5 s. */
export async function stopServer(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(server)) return;
  signalTree(server, 'SIGCONT'); // a frozen process obeys only SIGKILL
  server.kill(signal);
  const timer = setTimeout(() => signalTree(server, 'SIGKILL'), STOP_GRACE_MS);
  await once(server, 'exit');
  clearTimeout(timer);
}

/** Kills a server and its children: a session that outlived it would still respond for a moment. */
export async function killServer(server: ChildProcess): Promise<void> {
  if (!isRunning(server)) return;
  const exit = once(server, 'exit');
  const children = signalTree(server, 'SIGKILL');
  await exit;
  while (children.some((pid) => !'ZX'.includes(stateOf(pid)))) await sleep(2); // dead, and not yet waited for
}

/** Signals a server and its children, such as PostgreSQL has for each connection. @returns the children's ids */
export function signalTree(server: ChildProcess, signal: NodeJS.Signals): readonly number[] {
  const { pid = -1 } = server;
  if (signal !== 'SIGCONT') {
    // Frozen first, or it might have one more child by the time that it is signalled: a matter of microseconds.
    server.kill('SIGSTOP');
    while ('RSD'.includes(stateOf(pid) || '-'));
  }
  const children = childrenOf(pid); // read first: a dead server has none
  server.kill(signal);
  for (const child of children) {
    try {
      process.kill(child, signal);
    } catch {
      // It has just ended.
    }
  }
  return children;
}

/** One letter, as in proc(5); none if it is gone, or this is no Linux. */
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

/** Writes a file that a user, and besides root no other, can read. @param user `undefined`: that of this process */
export function writePrivately(file: string, text: string, user: UnprivilegedUser | undefined): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}
