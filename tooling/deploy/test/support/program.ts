import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { endWithTestRun } from '@petstore/testing';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that a test starts, with no environment but what it is given. Disposing of it ends it by SIGTERM. */
export class Program implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly #written = new EventEmitter();
  stdout = '';
  stderr = '';

  constructor([command = '', ...args]: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.process = spawn(command, args, { env: environment, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => this.#keep({ stdout: text }));
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => this.#keep({ stderr: text }));
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${command} could not be started`);
    // 'close', not 'exit': by then all output has been received.
    this.exited = once(this.process, 'close').then(([code, signal]) => ({ code, signal }));
    void this.exited.then(endWithTestRun(pid));
  }

  #keep({ stdout = '', stderr = '' }): void {
    this.stdout += stdout;
    this.stderr += stderr;
    this.#written.emit('text');
  }

  /** Waits until its output holds something. @throws Error with all of it where it has ended before */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    for (let hasEnded = false; ; ) {
      const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
      if (match !== null) return match;
      if (hasEnded) throw new Error(`it ended, and did not say ${pattern}:\n${this.stdout}\n${this.stderr}`);
      hasEnded = await Promise.race([once(this.#written, 'text').then(() => false), this.exited.then(() => true)]);
    }
  }

  /** Where a server of ours listens, once it serves. */
  async urls(): Promise<{ readonly publicUrl: string; readonly adminUrl: string }> {
    const [line] = await this.said(/^\{.*"listening on [^"]+".*\}$/m);
    return JSON.parse(line);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.process.kill(signal);
    return this.exited;
  }

  get isRunning(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.stop();
  }
}
