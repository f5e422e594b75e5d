import { refuseLongRecord, UnreadableInputError } from './record.ts';

const AS_CSV = 'save the sheet as CSV in UTF-8';
const COMPRESSED = 'the file is compressed; unpack it first';

/** Files that people take for text, by the bytes with which they begin, in hexadecimal digits. */
const OTHER_FILES: readonly (readonly [beginning: RegExp, advice: string])[] = [
  [/^(?:fffe|feff|00|..00)/, 'the file is UTF-16; save it as UTF-8'],
  [/^504b0304/, `the file is a spreadsheet (.xlsx, .ods) or a zip archive; ${AS_CSV}`],
  [/^d0cf11e0/, `the file is a spreadsheet (.xls); ${AS_CSV}`],
  [/^1f8b/, COMPRESSED], // gzip
  [/^425a68/, COMPRESSED], // bzip2
  [/^28b52ffd/, COMPRESSED], // zstd
  [/^fd377a58/, COMPRESSED], // xz
  [
    /^(?:efbbbf)?3c/,
    'the file is HTML or XML, perhaps a login page in place of the download; it must be NDJSON, a JSON array or CSV',
  ],
  [/^25504446/, 'the file is a PDF; it must be NDJSON, a JSON array or CSV'],
];

/** The longest of these beginnings. */
const BEGINNING_BYTES = 4;

/**
 * Decodes UTF-8. Bytes that are not UTF-8 become U+FFFD; a byte order mark is dropped.
 *
 * @throws UnreadableInputError if the file is known not to be a text in UTF-8
 */
export async function* readText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let isFirst = true;
  for await (const chunk of bytes) {
    const beginning = isFirst ? Buffer.from(chunk.subarray(0, BEGINNING_BYTES)).toString('hex') : '';
    const other = OTHER_FILES.find(([pattern]) => pattern.test(beginning));
    if (other !== undefined) throw new UnreadableInputError(other[1]);
    isFirst = false;
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/** A CR at the end may be the first half of a CR LF. */
const LINE_END = /\r\n|\n|\r(?!$)/;

/**
 * Splits a text into its lines, including blank ones, in batches. A line ends with LF, CR LF or CR.
 *
 * @throws UnreadableInputError if a line is too long to be a record
 */
export async function* readLines(texts: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let lineCount = 0;
  let rest = '';
  for await (const text of texts) {
    rest += text;
    if (/[\r\n]/.test(text)) {
      const lines = rest.split(LINE_END);
      rest = lines.pop() ?? '';
      for (const line of lines) refuseLongRecord(`line ${++lineCount}`, line.length);
      yield lines;
    }
    refuseLongRecord(`line ${lineCount + 1}`, rest.length);
  }
  if (rest !== '') yield rest.split(LINE_END);
}
