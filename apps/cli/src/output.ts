import { createWriteStream, fstatSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from './errors.ts';

/** Thrown when the reader of standard output has gone, as `head` does. Nothing is left to do, and nothing is wrong. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
  override readonly message = 'standard output was closed by its reader';
}

export interface OutputStreams {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** The width of a terminal that does not report its width, or reports 0. */
const DEFAULT_COLUMNS = 80;

/** Writes the results and messages of a command. */
export class Output {
  readonly #stdout: OutputStreams['stdout'];
  /** For messages and progress. */
  readonly stderr: OutputStreams['stderr'];
  #failure: Error | undefined;
  #clearProgress: (() => void) | undefined;

  constructor({ stdout, stderr }: OutputStreams) {
    this.#stdout = stdout;
    this.stderr = stderr;
    stdout.on('error', (error) => this.#fail(error));
    stderr.on('error', () => {}); // there is nowhere to report it
  }

  /** The width of the terminal that shows the results; `undefined` if they go elsewhere. */
  get columns(): number | undefined {
    return this.#stdout.isTTY === true ? this.#stdout.columns || DEFAULT_COLUMNS : undefined;
  }

  /**
   * Writes results to standard output, and waits until they are written.
   *
   * @throws ReaderGoneError
   * @throws CommandError if they cannot be written, as on a full disk
   */
  write(text: string): Promise<void> {
    this.endProgress();
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#stdout.write(text, (error) => (error ? reject(this.#fail(error)) : resolve()));
    });
  }

  /** Writes one JSON value, see {@link write}. */
  writeJson(value: unknown): Promise<void> {
    return this.write(`${JSON.stringify(value)}\n`);
  }

  /** Writes a line to standard error, in place of any progress shown. */
  message(text: string): void {
    this.endProgress();
    this.stderr.write(`${text}\n`);
  }

  /** @param clear removes the progress from the terminal before anything else is written */
  beginProgress(clear: () => void): void {
    this.#clearProgress = clear;
  }

  endProgress(): void {
    this.#clearProgress?.();
    this.#clearProgress = undefined;
  }

  #fail(error: Error): Error {
    this.#failure ??=
      'code' in error && error.code === 'EPIPE'
        ? new ReaderGoneError()
        : new CommandError(`standard output cannot be written: ${describeFileError(error)}`, { cause: error });
    return this.#failure;
  }
}

/** The process's own stream; for a file, one that also notices when only a part of a text fits on the disk. */
export function openStandardOutput(): Writable {
  const { stdout } = process;
  return fstatSync(stdout.fd).isFile() ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout;
}
