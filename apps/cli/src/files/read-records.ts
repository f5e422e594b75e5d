import { readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import { RECORD_LENGTH_MAX, type ReadRecord, type RecordShape, UnreadableInputError } from './record.ts';

const AS_CSV = 'save the sheet as CSV in UTF-8';

/** Files that people take for NDJSON or CSV, by their first bytes in hexadecimal digits. */
const OTHER_FILES: readonly (readonly [beginning: RegExp, advice: string])[] = [
  [/^(?:fffe|feff|00|..00)/, 'the file is UTF-16; save it as UTF-8'],
  [/^504b0304/, `the file is a workbook (.xlsx, .ods) or a zip archive; ${AS_CSV}`],
  [/^d0cf11e0/, `the file is a workbook (.xls); ${AS_CSV}`],
  [/^1f8b/, 'the file is compressed; unpack it first'],
];
const MAGIC_BYTES = 4;

const JSON_ARRAY =
  "the file is a JSON array; write one record on each line, as jq -c '.[]' does (1.7 or newer keeps all digits)";

const LINE_FEED = 0x0a;
/** The bytes that may precede the first record: white space, and those of a byte order mark. */
const BLANK_BYTES: ReadonlySet<number> = new Set([0x09, LINE_FEED, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

/**
 * Reads the records of a file in batches. A brace begins NDJSON; anything else is the header of CSV.
 *
 * @throws UnreadableInputError if the file cannot be read at all
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  shape: RecordShape,
): AsyncGenerator<readonly ReadRecord[]> {
  const chunks = bytes[Symbol.asyncIterator]();
  const head = await readHead(chunks);
  const beginning = head.toString('hex', 0, MAGIC_BYTES);
  const other = OTHER_FILES.find(([pattern]) => pattern.test(beginning));
  if (other !== undefined) throw new UnreadableInputError(other[1]);
  const text = head.toString().trimStart(); // also drops a byte order mark
  if (text.startsWith('[')) throw new UnreadableInputError(JSON_ARRAY);
  async function* all() {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  yield* text.startsWith('{') ? readNdjson(all()) : readCsv(all(), text, shape);
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
