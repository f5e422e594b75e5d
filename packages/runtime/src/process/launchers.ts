import { readFileSync } from 'node:fs';
import type { Environment } from '../settings/read-settings.ts';

/** The interval of the checks, in milliseconds. */
const INTERVAL_MS = 250;

/** A variable that all package managers set for the processes they start. */
const MARK = 'npm_config_user_agent';

/**
 * Watches the processes between the documented command and this one: npx, pnpm and their shells. Some of them pass no
 * signals on: a signal to one would end it and leave this process running. If no package manager has started this
 * process, nothing is watched.
 *
 * @param onGone called once, when one of these processes has ended
 */
export function watchLaunchers(environment: Environment, onGone: () => void): void {
  if (environment[MARK] === undefined) return;
  const chain = findLaunchers();
  const timer = setInterval(() => {
    if (findLaunchers() === chain) return; // a process that loses its parent gets another one
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS).unref();
}

/**
 * The ids of this process's parent, its grandparent and so on, up to the first package manager: every process with the
 * mark was started, directly or not, by a package manager. Without /proc, as on macOS, only the parent.
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
    // The process has just ended, or belongs to another user.
  }
  return pids.join();
}
