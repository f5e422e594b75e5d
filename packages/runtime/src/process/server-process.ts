import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A database or cache server that runs beside this process. */
export interface ServerProcess {
  readonly pid: number;
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Resolves once the process is gone, whatever ended it. Waiting alone does not keep our own process alive. */
  waitForExit(): Promise<void>;
}

/** A signal, and how long to wait for its effect before the next one. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
}

const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 250;

/** Starts a server in a session of its own: Ctrl-C in a terminal reaches only us, and we stop it, last. */
export function spawnServer(command: readonly [string, ...string[]], options: SpawnOptions): ServerProcess {
  const [file, ...args] = command;
  const child = spawn(file, args, { ...options, detached: true });
  child.unref(); // whoever is left using the server ends it, so we need not stay for it
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  const { pid } = child;
  if (pid === undefined) return notStarted(file, once(child, 'error'));
  return {
    pid,
    isRunning: () => failure === undefined && child.exitCode === null && child.signalCode === null,
    signal: (signal) => void child.kill(signal),
    async waitForExit() {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

function notStarted(file: string, error: Promise<unknown[]>): ServerProcess {
  return {
    pid: -1,
    isRunning: () => false,
    signal: () => {},
    async waitForExit() {
      const [cause] = await error;
      throw new Error(`${file} could not be started`, { cause });
    },
  };
}

/** A server that an earlier process started and did not live to stop. */
export function adoptServer(pid: number): ServerProcess {
  return {
    pid,
    isRunning: () => isAlive(pid),
    signal: (signal) => void sendSignal(pid, signal),
    async waitForExit() {
      for (let pollMs = FIRST_POLL_MS; isAlive(pid); pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
        await sleep(pollMs, undefined, { ref: false });
      }
    },
  };
}

/** Sends one signal after another until the process is gone. */
export async function stopServer(server: ServerProcess, steps: readonly StopStep[]): Promise<void> {
  for (const { signal, graceMs } of steps) {
    if (!server.isRunning()) return;
    server.signal(signal);
    const timer = new AbortController();
    const exit = server.waitForExit().finally(() => timer.abort());
    await Promise.race([exit, sleep(graceMs, undefined, { signal: timer.signal }).catch(() => {})]);
  }
  if (server.isRunning()) throw new Error(`process ${server.pid} did not stop`);
}

/** Whether a process exists and has not ended: one that nobody has waited for yet (a zombie) has. */
export function isAlive(pid: number): boolean {
  return sendSignal(pid, 0) && !isZombie(pid);
}

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: it exists, and belongs to someone else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'Z';
  } catch {
    return false;
  }
}
