import { createWriteStream, fstatSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { CommandFailure } from './failure.ts';
import { describeFileError } from './file-errors.ts';

/** Thrown when whoever read our output has gone, as `head` does: there is nothing left to do, and nothing wrong. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
}

/** Where a command's results and messages go. */
export interface Output {
  /**
   * Standard output: results, and nothing else. Waits until they are taken.
   *
   * @throws ReaderGoneError
   * @throws CommandFailure where it cannot be written, as on a full disk
   */
  write(text: string): Promise<void>;
  /** Standard error, a line. */
  say(message: string): void;
  /** Shows how far a long command is, where a person looks on; each call replaces what the one before showed. */
  progress(message: string): void;
}

export interface OutputStreams {
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

const PROGRESS_EVERY_MS = 100;
const ERASE_LINE = '\r\u001b[K';

export function createOutput({ stdout, stderr }: OutputStreams): Output {
  let failure: Error | undefined;
  const fail = (error: Error): Error => {
    failure ??= failureOf(error);
    return failure;
  };
  stdout.on('error', fail);
  stderr.on('error', () => {}); // nowhere is left to tell it
  let nextProgressAt = 0;
  let hasProgress = false;
  const clearProgress = () => {
    if (hasProgress) stderr.write(ERASE_LINE);
    hasProgress = false;
  };
  return {
    write(text) {
      clearProgress();
      return new Promise((resolve, reject) => {
        if (failure === undefined) stdout.write(text, (error) => (error ? reject(fail(error)) : resolve()));
        else reject(failure);
      });
    },
    say(message) {
      clearProgress();
      stderr.write(`${message}\n`);
    },
    progress(message) {
      const now = performance.now();
      if (stderr.isTTY !== true || now < nextProgressAt) return;
      nextProgressAt = now + PROGRESS_EVERY_MS;
      hasProgress = true;
      stderr.write(`${ERASE_LINE}${message}`);
    },
  };
}

function failureOf(error: Error): Error {
  if ('code' in error && error.code === 'EPIPE') return new ReaderGoneError();
  return new CommandFailure(`standard output cannot be written: ${describeFileError(error)}`, { cause: error });
}

/** The process's own, but where it is a file one that notices when only a part of a text finds room on the disk. */
export function openStandardOutput(): Writable {
  const { stdout } = process;
  return fstatSync(stdout.fd).isFile() ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout;
}
