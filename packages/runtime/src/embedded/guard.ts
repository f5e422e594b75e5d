import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Stops a shared server when this process dies without having released it, as by kill -9. */
export interface Guard {
  /** Ends the guard. */
  dismiss(): Promise<void>;
}

const CLEAN_UP = fileURLToPath(new URL('./clean-up.ts', import.meta.url));

/** A shell that waits for a line. It takes a megabyte, and becomes a Node process only where the line never comes. */
const SCRIPT = 'read -r line || exec "$0" "$1" "$2" "$3"';

export function spawnGuard(dataFolder: string, name: string): Guard {
  // In a session of its own, which outlives whatever kills our process group.
  const guard = spawn('/bin/sh', ['-c', SCRIPT, process.execPath, CLEAN_UP, dataFolder, name], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  guard.on('error', () => {}); // without a shell there is no guard
  guard.stdin.on('error', () => {}); // it was killed
  return {
    async dismiss() {
      if (guard.pid === undefined || guard.exitCode !== null || guard.signalCode !== null) return;
      guard.ref();
      const exit = once(guard, 'exit');
      guard.stdin.end('dismissed\n');
      await exit;
    },
  };
}
