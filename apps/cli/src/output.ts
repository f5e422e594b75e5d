import { createWriteStream, fstatSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from './errors.ts';

/** Thrown when the reader of standard output has gone, as `head` does: nothing is left to do, and nothing is wrong. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
  override readonly message = 'standard output was closed by its reader';
}

/** Where the results and messages of a command go. */
export interface Output {
  /**
   * Writes results to standard output, and waits until they are taken.
   *
   * @throws ReaderGoneError
   * @throws CommandError where it cannot be written, as on a full disk
   */
  write(text: string): Promise<void>;
  /** {@link write} of one JSON value. */
  writeJson(value: unknown): Promise<void>;
  /** How wide the terminal is that shows the results; `undefined` where they go elsewhere. */
  readonly columns: number | undefined;
  /** Whether anyone sees {@link progress}. */
  readonly showsProgress: boolean;
  /** Writes a line to standard error, in place of the progress that is shown. */
  message(text: string): void;
  /** The same, below the progress. */
  messageBelow(text: string): void;
  /**
   * On a terminal, shows how far a long command is; each call replaces what the last one showed.
   *
   * @param options.isDue whether it is shown however little time has passed. @default false
   */
  progress(text: string, options?: { readonly isDue?: boolean }): void;
}

export interface OutputStreams {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Of a terminal that does not say how wide it is, or says 0. */
const DEFAULT_COLUMNS = 80;
const PROGRESS_INTERVAL_MS = 100;
const ERASE_LINE = '\r\u001b[K';

export function createOutput({ stdout, stderr }: OutputStreams): Output {
  let failure: Error | undefined;
  const fail = (error: Error): Error => {
    failure ??= toOutputError(error);
    return failure;
  };
  stdout.on('error', fail);
  stderr.on('error', () => {}); // there is nowhere to report it
  let nextProgressAt = 0;
  let hasProgress = false;
  const clearProgress = () => {
    if (hasProgress) stderr.write(ERASE_LINE);
    hasProgress = false;
  };
  const write = (text: string): Promise<void> => {
    clearProgress();
    return new Promise((resolve, reject) => {
      if (failure === undefined) stdout.write(text, (error) => (error ? reject(fail(error)) : resolve()));
      else reject(failure);
    });
  };
  return {
    write,
    columns: stdout.isTTY === true ? stdout.columns || DEFAULT_COLUMNS : undefined,
    showsProgress: stderr.isTTY === true,
    writeJson: (value) => write(`${JSON.stringify(value)}\n`),
    message(text) {
      clearProgress();
      stderr.write(`${text}\n`);
    },
    messageBelow(text) {
      stderr.write(`${hasProgress ? '\n' : ''}${text}\n`);
      hasProgress = false;
    },
    progress(text, { isDue = false } = {}) {
      const now = performance.now();
      if (stderr.isTTY !== true || (now < nextProgressAt && !isDue)) return;
      nextProgressAt = now + PROGRESS_INTERVAL_MS;
      hasProgress = true;
      // What is wider than the terminal would go on in a line that is not erased.
      stderr.write(`${ERASE_LINE}${text.slice(0, (stderr.columns || DEFAULT_COLUMNS) - 1)}`);
    },
  };
}

function toOutputError(error: Error): Error {
  if ('code' in error && error.code === 'EPIPE') return new ReaderGoneError();
  return new CommandError(`standard output cannot be written: ${describeFileError(error)}`, { cause: error });
}

/** The process's own; for a file a stream that also notices when only a part of a text fits on the disk. */
export function openStandardOutput(): Writable {
  const { stdout } = process;
  return fstatSync(stdout.fd).isFile() ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout;
}
