import type { ServerResponse } from 'node:http';
import type { HttpBounds } from '../app-options.ts';
import { readSendQueue } from './send-queue.ts';

/** What a reader must take in each {@link HttpBounds.slowReaderMs}. */
const SLOW_READER_BYTES = 65_536;
/** How often the progress of a reader is measured within the shorter of the two times. */
const MEASUREMENTS = 10;

export type ReaderBounds = Pick<HttpBounds, 'idleReaderMs' | 'slowReaderMs'>;

/**
 * Writes a response as fast as its reader takes it, and measures whether it does. Only the time that we wait for the
 * reader counts, so a slow database ends no list.
 */
export class PacedWriter {
  readonly #response: ServerResponse;
  readonly #bounds: ReaderBounds;
  #writtenBytes = 0;
  /** Bytes of the piece being written that the system has, as far as that shows. */
  #partBytes = 0;
  /** When the system last took a piece whole, by the clock of `performance`. */
  #handedAtMs = 0;
  /** How long we have waited for the reader, in all. */
  #waitedMs = 0;
  #measuredAtWaitMs = 0;
  /** What the reader had taken when it was seen to take something, and how long we had waited by then. */
  #taken: { bytes: number; waitMs: number } | undefined;
  /** The same when {@link SLOW_READER_BYTES} more had been taken. */
  #paceTaken = { bytes: 0, waitMs: 0 };

  constructor(response: ServerResponse, bounds: ReaderBounds) {
    this.#response = response;
    this.#bounds = bounds;
  }

  /** @returns whether all of it is on its way, and the reader is still there and fast enough */
  async write(bytes: Uint8Array): Promise<boolean> {
    if (this.#response.destroyed) return false;
    this.#writtenBytes += bytes.byteLength;
    const isHandedOver = this.#response.write(bytes) || (await this.#isHandedOver());
    this.#partBytes = 0;
    this.#handedAtMs = performance.now();
    return isHandedOver && !this.#response.destroyed;
  }

  /** Waits until the system takes what was written. @returns false where the reader is gone, or too slow */
  async #isHandedOver(): Promise<boolean> {
    const { idleReaderMs, slowReaderMs } = this.#bounds;
    const measureEachMs = Math.min(idleReaderMs, slowReaderMs) / MEASUREMENTS;
    for (;;) {
      const beganMs = performance.now();
      const isDrained = await waitForDrain(this.#response, measureEachMs);
      const waitMs = this.#waitedMs;
      this.#waitedMs += performance.now() - beganMs;
      if (this.#response.destroyed) return false;
      const isDue = this.#waitedMs - this.#measuredAtWaitMs >= measureEachMs;
      if (isDue && (await this.#isTooSlow(waitMs))) return false;
      if (isDrained) return true;
    }
  }

  /** @param sinceWaitMs from when on the reader may have taken nothing, where it was never measured before */
  async #isTooSlow(sinceWaitMs: number): Promise<boolean> {
    const { socket } = this.#response;
    if (socket === null) return false;
    const waitMs = this.#waitedMs;
    this.#measuredAtWaitMs = waitMs;
    const queuedBytes = await readSendQueue(socket, this.#handedAtMs);
    if (queuedBytes === undefined) return false;
    const handedBytes = this.#writtenBytes - this.#response.writableLength;
    const bytes = handedBytes + this.#partBytes - queuedBytes;
    if (this.#taken === undefined) {
      this.#taken = { bytes, waitMs: sinceWaitMs };
      this.#paceTaken = { ...this.#taken };
    }
    // What was taken stays so: if it seems less, then the system has more of the piece being written.
    this.#partBytes += Math.max(0, this.#taken.bytes - bytes);
    if (bytes > this.#taken.bytes) this.#taken = { bytes, waitMs };
    if (bytes - this.#paceTaken.bytes >= SLOW_READER_BYTES) this.#paceTaken = { bytes, waitMs };
    const { idleReaderMs, slowReaderMs } = this.#bounds;
    return waitMs - this.#taken.waitMs >= idleReaderMs || waitMs - this.#paceTaken.waitMs >= slowReaderMs;
  }
}

/** @returns whether what was written was taken by the system, rather than the client gone or the time over */
function waitForDrain(response: ServerResponse, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve(false);
    // Drained while the progress of the reader was measured.
    if (!response.writableNeedDrain) return resolve(true);
    const timer = setTimeout(() => finish(false), timeoutMs);
    const onDrain = () => finish(true);
    const onClose = () => finish(false);
    function finish(isDrained: boolean) {
      clearTimeout(timer);
      response.off('drain', onDrain).off('close', onClose);
      resolve(isDrained);
    }
    response.on('drain', onDrain).on('close', onClose);
  });
}
