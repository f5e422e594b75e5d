import { readArray } from './read-array.ts';
import { CsvReader } from './read-csv.ts';
import { readLines, readText } from './read-text.ts';
import {
  NOT_UTF8,
  REPLACEMENT_CHARACTER,
  type ReadRecord,
  type RecordShape,
  refuseLongRecord,
  toRecord,
} from './record.ts';

/**
 * Reads the records of a file in batches. The first character determines the format: a bracket begins a JSON array, a
 * brace NDJSON, anything else the header of CSV.
 *
 * @throws UnreadableInputError if the file cannot be read at all
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  shape: RecordShape,
): AsyncGenerator<readonly ReadRecord[]> {
  const texts = readText(bytes);
  let head = '';
  while (head.trim() === '') {
    refuseLongRecord('line 1', head.length);
    const { value, done } = await texts.next();
    if (done) break;
    head += value;
  }
  async function* all() {
    yield head;
    yield* texts;
  }
  const first = head.trimStart()[0];
  if (first === '[') {
    yield* readArray(all());
    return;
  }
  const csv = first === '{' ? undefined : new CsvReader(shape);
  let line = 0;
  for await (const lines of readLines(all())) {
    const records = lines.map((text) => (csv === undefined ? readJson(++line, text) : csv.read(++line, text)));
    yield records.filter((record) => record !== undefined);
  }
  csv?.end();
}

/** The second half is for `jq '.[]'`, which writes a record on several lines. */
const NOT_JSON = 'not valid JSON; each line must hold a whole record';

/** A record of NDJSON; `undefined` for a blank line. */
function readJson(line: number, text: string): ReadRecord | undefined {
  if (text.includes(REPLACEMENT_CHARACTER)) return { line, reason: NOT_UTF8 };
  try {
    return toRecord(line, NEEDS_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text));
  } catch {
    return text.trim() === '' ? undefined : { line, reason: NOT_JSON };
  }
}

/**
 * Finds a field whose value may lose digits as a double, and an array or object that may contain such a value. The search
 * is worth its time: parsing with exact digits takes several times as long.
 */
const NEEDS_DIGITS = /"\s*:(?!\s*(?:["tfn]|(?:0|-?[1-9]\d{0,14})\s*[,}]))/;

/** Converts a number to a text with the digits of the file. */
const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? context?.source : value;
