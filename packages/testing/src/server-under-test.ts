import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '@petstore/runtime/servers';

/** A private server that a test may hurt. Its port stays the same. Disposing of it ends it and deletes its data. */
export interface ServerUnderTest extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends it in order, data written. */
  stop(): Promise<void>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Freezes all of it (on Linux; elsewhere what accepts connections): they stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Runs it again, on the same port and with what it kept on its disk. Ends it first where it still runs. */
  restart(): Promise<void>;
}

interface ServerControl {
  readonly port: number;
  readonly url: string;
  start(): Promise<ServerProcess>;
  stop(server: ServerProcess): Promise<void>;
  /** Called when a process has begun; gives what to call when it has ended. */
  register(pid: number): () => void;
  removeData(): void;
}

export async function runServerUnderTest(control: ServerControl): Promise<ServerUnderTest> {
  let server = await control.start();
  let unregister = control.register(server.pid);

  async function end(how: (running: ServerProcess) => Promise<void> | void): Promise<void> {
    if (!server.isRunning()) return;
    signalFamily(server, 'SIGCONT'); // a frozen process obeys only SIGKILL
    await how(server);
    await server.waitForExit();
    unregister();
  }
  const stop = () => end(control.stop);
  const kill = () => end(killFamily);

  return {
    port: control.port,
    url: control.url,
    get pid() {
      return server.pid;
    },
    stop,
    kill,
    pause: () => void signalFamily(server, 'SIGSTOP'),
    resume: () => void signalFamily(server, 'SIGCONT'),
    async restart() {
      await stop();
      server = await control.start();
      unregister = control.register(server.pid);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      control.removeData();
    },
  };
}

/** Signals a server and its children, such as PostgreSQL has for each connection. @returns the children's ids */
function signalFamily(server: ServerProcess, signal: NodeJS.Signals): readonly number[] {
  if (signal !== 'SIGCONT') freeze(server); // or it might have one more child by the time that it is signalled
  const children = childrenOf(server.pid); // asked for first: a dead server has none
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

/** Kills all of a server: a session that outlived it would for a moment still answer. */
async function killFamily(server: ServerProcess): Promise<void> {
  const children = signalFamily(server, 'SIGKILL');
  while (children.some(isRunning)) await sleep(2);
}

/** Stops a process, and is done when it has stopped: a matter of microseconds, unless the machine is busy. */
function freeze(server: ServerProcess): void {
  server.signal('SIGSTOP');
  while (['R', 'S', 'D'].includes(stateOf(server.pid) ?? ''));
}

function isRunning(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state !== 'Z' && state !== 'X'; // dead, and nobody asked of what
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
