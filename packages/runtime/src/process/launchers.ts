import { readFileSync } from 'node:fs';
import type { Environment } from '../settings/read-settings.ts';

/** How often to check whether they are still there, in milliseconds. */
const INTERVAL_MS = 250;

/** The variable that all package managers set for what they start. */
const MARK = 'npm_config_user_agent';

/**
 * Watches the processes between the documented command and this one: npx, pnpm and their shells. Some of them pass no
 * signal on, so that a signal to one would end it and leave this one. Where no package manager has started this process
 * there is nothing to watch.
 *
 * @param onGone called once, when one of them has ended
 */
export function watchLaunchers(environment: Environment, onGone: () => void): void {
  if (environment[MARK] === undefined) return;
  const chain = findLaunchers();
  const timer = setInterval(() => {
    if (findLaunchers() === chain) return; // who loses its parent gets another one
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS).unref();
}

/**
 * The ids of this process's parent, of its parent and so on, up to the first package manager: what has the mark was
 * started by one, or by what one has started. Without /proc, as on macOS, the parent alone.
 */
function findLaunchers(): string {
  const pids: number[] = [];
  try {
    for (let pid = process.ppid; ; ) {
      pids.push(pid);
      if (!`\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${MARK}=`)) break;
      pid = Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1]);
    }
  } catch {
    // It has just ended, or is another user's.
  }
  return pids.join();
}
