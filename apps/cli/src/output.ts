import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Thrown when whoever read our output has gone, as `head` does: there is nothing left to do, and nothing wrong. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
}

/** Where a command's results and messages go. */
export interface Output {
  /** Standard output: results, and nothing else. Waits while the reader is busy. */
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
  let isGone = false;
  for (const stream of [stdout, stderr]) {
    stream.on('error', () => {
      isGone ||= stream === stdout;
    });
  }
  let nextProgressAt = 0;
  let hasProgress = false;
  const clearProgress = () => {
    if (hasProgress) stderr.write(ERASE_LINE);
    hasProgress = false;
  };
  return {
    async write(text) {
      clearProgress();
      if (isGone) throw new ReaderGoneError();
      if (!stdout.write(text)) await once(stdout, 'drain').catch(() => {});
      if (isGone) throw new ReaderGoneError();
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
