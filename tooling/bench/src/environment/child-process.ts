import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const GRACE_MS = 5_000;
const OUTPUT_KEPT_CHARACTERS = 4_000;

/** A Node program of ours that runs beside this one. */
export interface ChildProgram {
  readonly pid: number;
  /** The first group of the first line of its output that matches. @throws Error with its output when it ends before */
  waitForLine(pattern: RegExp): Promise<string>;
  /** Its output once it has ended. @throws Error with its output when it failed */
  waitForEnd(): Promise<string>;
  /** Ends it by SIGTERM, after a while by SIGKILL, and then all that it has started. */
  stop(): Promise<void>;
}

/** For all programs, so that none compiles anew what another does not. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));

/** Starts programs and ends them with the run. Each has a session of its own, so that Ctrl-C reaches only this process. */
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
  let errors = '';
  const lines = createInterface(stdout).on('line', (line) => {
    output = `${output}${line}\n`.slice(-OUTPUT_KEPT_CHARACTERS);
  });
  stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-OUTPUT_KEPT_CHARACTERS);
  });
  const closed = once(child, 'close');
  const failure = () => new Error(`${file} ended with ${child.exitCode ?? child.signalCode}\n${output}${errors}`);

  return {
    pid,
    async waitForLine(pattern) {
      const found = Promise.withResolvers<string>();
      const look = () => {
        const text = pattern.exec(output)?.[1];
        if (text !== undefined) found.resolve(text);
      };
      look();
      lines.on('line', look);
      const ended = closed.then(() => Promise.reject(failure()));
      return await Promise.race([found.promise, ended]).finally(() => lines.off('line', look));
    },
    async waitForEnd() {
      await closed;
      if (child.exitCode !== 0) throw failure();
      return output;
    },
    async stop() {
      const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      child.kill('SIGTERM');
      await Promise.race([exited, sleep(GRACE_MS, undefined, { ref: false })]);
      killGroup(pid); // it has not obeyed, or has left children behind
      await closed;
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All have ended.
  }
}
