import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Environment } from '../settings/read-settings.ts';

/** How often to check whether they are still there, in milliseconds. */
const INTERVAL_MS = 250;

/** More than any package manager puts between the command that was typed and this process. */
const LAUNCHERS_MAX = 20;

const SHELL = /^(?:\S*\/)?\w*sh -c /;
const PACKAGE_MANAGER = /^(?:\S*\/)?(?:npm|npx|pnpm|pnpx) |\/p?np[mx](?:-cli)?(?:\.[cm]?js)? /;

interface Process {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
}

/**
 * Watches the processes between the documented command and this one: npx, pnpm and their shells. Some of them pass no
 * signal on, so that a signal to one would end it and leave this one. Where no package manager has started this process
 * there is nothing to watch.
 *
 * @param onGone called once, when one of them has ended
 */
export function watchLaunchers(environment: Environment, onGone: () => void): void {
  if (environment['npm_config_user_agent'] === undefined) return; // they all set it, for scripts and programs
  const pids = findLaunchers();
  if (pids.length === 0) return;
  const timer = setInterval(() => {
    if (pids.every(isThere)) return;
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS).unref();
}

function findLaunchers(): readonly number[] {
  const launchers: Process[] = [];
  let pid = process.ppid;
  while (launchers.length < LAUNCHERS_MAX) {
    const found = findProcess(pid);
    if (found === undefined || !(SHELL.test(found.command) || PACKAGE_MANAGER.test(found.command))) break;
    launchers.push(found);
    pid = found.parentPid;
  }
  // A shell before the first package manager is the user's: it may end while what it has started goes on.
  const first = launchers.findLastIndex(({ command }) => PACKAGE_MANAGER.test(command) && !SHELL.test(command));
  return launchers.slice(0, first + 1).map((launcher) => launcher.pid);
}

/** @returns `undefined` where there is none, or the system does not reveal it */
function findProcess(pid: number): Process | undefined {
  try {
    const [parentPid = '', command = ''] =
      process.platform === 'linux'
        ? [
            readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1],
            readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '),
          ]
        : (
            /^\s*(\d+) (.*)/.exec(execFileSync('ps', ['-o', 'ppid=,command=', '-p', `${pid}`], { encoding: 'utf8' })) ??
            []
          ).slice(1);
    return { pid, parentPid: Number(parentPid), command: `${command.trim()} ` };
  } catch {
    return undefined;
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'; // another user's
  }
}
