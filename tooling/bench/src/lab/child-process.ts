import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const GRACE_MS = 5_000;
const OUTPUT_KEPT = 4_000;

/** A Node program of ours that runs beside us. */
export interface ChildProgram {
  readonly pid: number;
  /** The first group of the first line of its output that fits. @throws Error with its last words when it ends before */
  waitForLine(pattern: RegExp): Promise<string>;
  /** What it wrote, once it has ended well. @throws Error with its last words when it failed */
  waitForEnd(): Promise<string>;
  /** Ends it by SIGTERM, after a while by SIGKILL, and then whatever it has started. */
  stop(): Promise<void>;
}

/** For everybody, so that a start shows what there is to load and not who keeps compiled code. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));

/**
 * Starts programs, and sees that none outlives the run. Each has a session of its own, so that Ctrl-C reaches only us and
 * things end in order.
 */
export class ChildProcesses implements AsyncDisposable {
  readonly #running = new Set<ChildProgram>();
  #isClosed = false;

  start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProgram {
    if (this.#isClosed) throw new Error('the run is over');
    const child = spawn(process.execPath, [file, ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', NODE_COMPILE_CACHE, ...env },
    });
    const program = watch(child, file);
    this.#running.add(program);
    child.once('close', () => this.#running.delete(program));
    return program;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running].map((program) => program.stop()));
  }
}

function watch(child: ChildProcess, file: string): ChildProgram {
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error(`${file} could not be started`);
  let output = '';
  let lastWords = '';
  const lines = createInterface(stdout);
  lines.on('line', (line) => {
    output = `${output}${line}\n`.slice(-OUTPUT_KEPT);
  });
  stderr.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-OUTPUT_KEPT);
  });
  const exited = once(child, 'exit');
  const closed = once(child, 'close');
  const failure = () => new Error(`${file} ended with ${child.exitCode ?? child.signalCode}\n${output}${lastWords}`);
  const isAlive = () => child.exitCode === null && child.signalCode === null;

  return {
    pid,
    async waitForLine(pattern) {
      const found = Promise.withResolvers<string>();
      const look = (line: string) => {
        const text = pattern.exec(line)?.[1];
        if (text !== undefined) found.resolve(text);
      };
      for (const line of output.split('\n')) look(line);
      lines.on('line', look);
      try {
        return await Promise.race([found.promise, closed.then(() => Promise.reject(failure()))]);
      } finally {
        lines.off('line', look);
      }
    },
    async waitForEnd() {
      await closed;
      if (child.exitCode !== 0) throw failure();
      return output;
    },
    async stop() {
      if (isAlive()) child.kill('SIGTERM');
      const timer = new AbortController();
      await Promise.race([exited, sleep(GRACE_MS, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      // It too where it does not obey, and whatever it has left behind, which would hold its output open.
      killGroup(pid);
      await closed;
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}
