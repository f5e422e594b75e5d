import { NOT_UTF8, RECORD_LENGTH_MAX, REPLACEMENT_CHARACTER, type ReadRecord, tooLong } from './record.ts';

/**
 * Reads JSON texts, one on each line, in batches. Lines end with LF: JSON takes a CR before it for white space. (Node's
 * `readline` also ends lines at U+2028, which a JSON text may contain.)
 *
 * @throws UnreadableInputError if a line is too long to be a record
 */
export async function* readNdjson(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ReadRecord[]> {
  const decoder = new TextDecoder(); // drops a byte order mark
  let line = 0;
  let rest = '';
  const readLines = (lines: readonly string[]) => {
    const records = lines.map((text) => readLine(++line, text));
    return records.filter((record) => record !== undefined);
  };
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield readLines(lines);
    if (rest.length > RECORD_LENGTH_MAX) throw tooLong(line + 1);
  }
  yield readLines([rest + decoder.decode()]);
}

/** @returns `undefined` for a blank line */
function readLine(line: number, text: string): ReadRecord | undefined {
  if (text.trim() === '') return undefined;
  if (text.includes(REPLACEMENT_CHARACTER)) return { line, reason: NOT_UTF8 };
  try {
    const values: unknown = JSON.parse(text, keepDigits);
    const isObject = typeof values === 'object' && values !== null && !Array.isArray(values);
    return isObject ? { line, values: { ...values } } : { line, reason: 'not a JSON object' };
  } catch {
    return { line, reason: 'not valid JSON; each line must contain one whole record' }; // of which `jq '.[]'` makes several
  }
}

/** Converts a number to a text with the digits of the file, which a double would round. */
const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? context?.source : value;
