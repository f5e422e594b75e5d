import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
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
