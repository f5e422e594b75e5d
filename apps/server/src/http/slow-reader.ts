import type { ServerResponse } from 'node:http';
import type { HttpBounds } from './app-options.ts';

/** So much of an answer is written at a time: how fast its reader takes it is seen in steps of this size. */
const SLICE_BYTES = 16_384;
/** What a reader must take in each {@link HttpBounds.slowReaderMs}. */
const SLOW_READER_BYTES = 65_536;

export type ReaderBounds = Pick<HttpBounds, 'idleReaderMs' | 'slowReaderMs'>;

/**
 * Writes an answer as fast as its reader takes it, and sees that it does take it. Only the time that we wait for the
 * reader counts, so a slow database ends nobody's list.
 */
export class PacedWriter {
  readonly #response: ServerResponse;
  readonly #bounds: ReaderBounds;
  /** Since {@link SLOW_READER_BYTES} were last taken. */
  #waitedMs = 0;
  #takenBytes = 0;

  constructor(response: ServerResponse, bounds: ReaderBounds) {
    this.#response = response;
    this.#bounds = bounds;
  }

  /** @returns whether all of it is on its way, and the reader is still there and fast enough */
  async write(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      if (this.#response.destroyed) return false;
      if (!this.#response.write(slice) && !(await this.#isTaken(slice.byteLength))) return false;
    }
    return !this.#response.destroyed;
  }

  async #isTaken(byteLength: number): Promise<boolean> {
    const { idleReaderMs, slowReaderMs } = this.#bounds;
    const beganMs = performance.now();
    const isTaken = await isDrained(this.#response, Math.min(idleReaderMs, slowReaderMs - this.#waitedMs));
    this.#waitedMs += performance.now() - beganMs;
    this.#takenBytes += byteLength;
    if (this.#takenBytes >= SLOW_READER_BYTES) {
      this.#waitedMs = 0;
      this.#takenBytes = 0;
    }
    return isTaken;
  }
}

/** @returns whether what was written is on its way, rather than the reader gone or too slow */
function isDrained(response: ServerResponse, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(false), timeoutMs);
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    function settle(isTaken: boolean) {
      clearTimeout(timer);
      response.off('drain', onDrain).off('close', onClose);
      resolve(isTaken);
    }
    if (response.destroyed) return settle(false);
    response.on('drain', onDrain).on('close', onClose);
  });
}
