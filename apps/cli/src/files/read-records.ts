import { readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import { RECORD_LENGTH_MAX, type ReadRecord, type RecordShape } from './record.ts';

const LINE_FEED = 0x0a;
/** The bytes that may precede the first record: white space, and those of a byte order mark. */
const BLANK_BYTES: ReadonlySet<number> = new Set([0x09, LINE_FEED, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

/**
 * Reads the records of a file in batches. A brace or a bracket begins JSON; anything else is the header of CSV.
 *
 * @throws UnreadableInputError if the file cannot be read at all
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  shape: RecordShape,
): AsyncGenerator<readonly ReadRecord[]> {
  const chunks = bytes[Symbol.asyncIterator]();
  const head = await readHead(chunks);
  const text = head.toString().trimStart(); // also drops a byte order mark
  async function* all() {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  yield* /^[{[]/.test(text) ? readNdjson(all()) : readCsv(all(), text, shape);
}

/** Reads to the end of the first line that is not blank, but not much more than a record may have. */
async function readHead(chunks: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const head: Uint8Array[] = [];
  let length = 0;
  let hasBegun = false;
  while (length < RECORD_LENGTH_MAX) {
    const { value: chunk, done } = await chunks.next();
    if (done) break;
    head.push(chunk);
    length += chunk.length;
    const begin: number = hasBegun ? 0 : chunk.findIndex((byte) => !BLANK_BYTES.has(byte));
    hasBegun ||= begin >= 0;
    if (hasBegun && chunk.includes(LINE_FEED, begin)) break;
  }
  return Buffer.concat(head);
}
