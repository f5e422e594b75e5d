import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from './servers/server-process.ts';

/** Signals a server and its children, such as PostgreSQL has for each connection. @returns the children's ids */
export function signalTree(server: ServerProcess, signal: NodeJS.Signals): readonly number[] {
  if (signal !== 'SIGCONT') freeze(server); // or it might have one more child by the time that it is signalled
  const children = childrenOf(server.pid); // read first: a dead server has none
  server.signal(signal);
  for (const pid of children) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended.
    }
  }
  return children;
}

/** Kills a server and its children: a session that outlived it would still respond for a moment. */
export async function killTree(server: ServerProcess): Promise<void> {
  const children = signalTree(server, 'SIGKILL');
  while (children.some(isRunning)) await sleep(2);
}

/** Stops a process, and is done when it has stopped: a matter of microseconds, unless the machine is busy. */
function freeze(server: ServerProcess): void {
  server.signal('SIGSTOP');
  while (['R', 'S', 'D'].includes(stateOf(server.pid) ?? ''));
}

function isRunning(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state !== 'Z' && state !== 'X'; // dead, and not yet waited for
}

/** One letter, as in proc(5); `undefined` where it is gone, or this is no Linux. */
function stateOf(pid: number): string | undefined {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return []; // no Linux
  }
}
