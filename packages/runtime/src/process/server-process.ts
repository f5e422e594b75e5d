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

/**
 * Starts a server in a session of its own: Ctrl-C in a terminal reaches only us, and we stop it, last.
 *
 * @throws Error where the program cannot be run
 */
export async function spawnServer(
  command: readonly [string, ...string[]],
  options: SpawnOptions,
): Promise<ServerProcess> {
  const [file, ...args] = command;
  const child = spawn(file, args, { ...options, detached: true });
  child.unref(); // its last user stops it, so we need not stay for it
  await once(child, 'spawn');
  child.on('error', () => {}); // a signal that cannot be sent
  return {
    pid: child.pid ?? -1,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    signal: (signal) => void child.kill(signal),
    async waitForExit() {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** A server that another process started. */
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

/** Whether a process exists and has not ended: a zombie, which its parent has not waited for, has. */
export function isAlive(pid: number): boolean {
  return sendSignal(pid, 0) && !isZombie(pid);
}

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: it exists, and belongs to another user.
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
