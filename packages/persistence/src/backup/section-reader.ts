import { notABackup } from './backup-header.ts';

/** As COPY ends its rows in a file; no row is like it, because COPY writes a backslash twice. */
export const END_OF_ROWS = '\\.\n';

const NEWLINE = 0x0a;
const MARK = Buffer.from(`\n${END_OF_ROWS}`);

/** Far more than a line that is not a row has. */
const LINE_BYTES_MAX = 100_000;

/** Takes a backup's text apart as it comes: lines, and rows between them. */
export class SectionReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** What has come and was not given yet. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(text: AsyncIterable<Uint8Array>) {
    this.#chunks = text[Symbol.asyncIterator]();
  }

  /** @throws BackupError where there is none any more, or one without an end */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(NEWLINE);
      if (end >= 0) {
        const line = this.#rest.toString('utf8', 0, end);
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (this.#rest.length > LINE_BYTES_MAX || !(await this.#readMore())) throw notABackup();
    }
  }

  /** The rows up to their end, in pieces that may begin and end anywhere. To be read to the end. */
  async *rows(): AsyncGenerator<Buffer> {
    // The line before them has an end, too, so where there is no row the mark is found all the same.
    this.#rest = Buffer.concat([MARK.subarray(0, 1), this.#rest]);
    let given = 1;
    for (;;) {
      const end = this.#rest.indexOf(MARK);
      const stop = end >= 0 ? end + 1 : this.#rest.length - beginningOfMark(this.#rest);
      if (stop > given) yield this.#rest.subarray(given, stop);
      if (end >= 0) {
        this.#rest = this.#rest.subarray(end + MARK.length);
        return;
      }
      given = Math.max(0, given - stop);
      this.#rest = this.#rest.subarray(stop);
      if (!(await this.#readMore())) throw notABackup();
    }
  }

  /** Reads what is left, so that a checksum covers the whole text. @returns whether there was anything */
  async drain(): Promise<boolean> {
    let hasMore = this.#rest.length > 0;
    this.#rest = Buffer.alloc(0);
    while (await this.#readMore()) {
      hasMore ||= this.#rest.length > 0;
      this.#rest = Buffer.alloc(0);
    }
    return hasMore;
  }

  /** To be called where it was not read to its end, so that it can be closed. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #readMore(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest =
      this.#rest.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        : Buffer.concat([this.#rest, value]);
    return true;
  }
}

/** How many bytes at the end may be the beginning of the mark. */
function beginningOfMark(bytes: Buffer): number {
  for (let length = MARK.length - 1; length > 0; length--) {
    if (bytes.subarray(-length).equals(MARK.subarray(0, length))) return length;
  }
  return 0;
}

/** Of rows, each of which is a line: a line end within a value is written as two other characters. */
export function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
