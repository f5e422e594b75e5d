import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerProgram, startServer as startOnce } from '@petstore/runtime/servers';

const START_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;
const STOP_GRACE_MS = 5_000;

/** Starts a server; again if its port was taken in the meantime. @throws RuntimeError of the last attempt */
export async function startServer(program: ServerProgram): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(program);
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
      await sleep(ATTEMPT_PAUSE_MS);
    }
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

/** Stops a server in order, frozen or not; by force if that takes longer than 5 s. */
export async function stopServer(server: ChildProcess, { stopSignal }: ServerProgram): Promise<void> {
  if (!isRunning(server)) return;
  const exit = once(server, 'exit');
  signalTree(server, 'SIGCONT'); // a frozen process obeys only SIGKILL
  server.kill(stopSignal);
  const timer = setTimeout(() => signalTree(server, 'SIGKILL'), STOP_GRACE_MS);
  await exit;
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
