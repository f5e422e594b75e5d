import { readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import { RECORD_LENGTH_MAX, type ReadRecord, type RecordShape, UnreadableInputError } from './record.ts';

const AS_CSV = 'save the sheet as CSV in UTF-8';

/** Files that people take for NDJSON or CSV, by the bytes with which they begin, in hexadecimal digits. */
const OTHER_FILES: readonly (readonly [beginning: RegExp, advice: string])[] = [
  [/^(?:fffe|feff|00|..00)/, 'the file is UTF-16; save it as UTF-8'],
  [/^504b0304/, `the file is a workbook (.xlsx, .ods) or a zip archive; ${AS_CSV}`],
  [/^d0cf11e0/, `the file is a workbook (.xls); ${AS_CSV}`],
  [/^1f8b/, 'the file is compressed; unpack it first'],
  [
    /^(?:efbbbf)?(?:09|0a|0d|20)*5b/,
    "the file is a JSON array; write one record on each line, as jq -c '.[]' does (1.7 or newer keeps all digits)",
  ],
];

/** A line that is not blank, to its end. */
const WHOLE_LINE = /\S.*\n/;

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
  let head = Buffer.alloc(0);
  while (!WHOLE_LINE.test(head.toString()) && head.length < RECORD_LENGTH_MAX) {
    const { value, done } = await chunks.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  const beginning = head.toString('hex');
  const other = OTHER_FILES.find(([pattern]) => pattern.test(beginning));
  if (other !== undefined) throw new UnreadableInputError(other[1]);
  async function* all() {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  const text = head.toString().trimStart();
  yield* text.startsWith('{') ? readNdjson(all()) : readCsv(all(), text, shape);
}
