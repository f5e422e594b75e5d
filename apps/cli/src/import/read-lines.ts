/** Input that cannot be read at all. The message is shown to the user. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
}

/** In UTF-16 code units; far more than any record needs. */
const RECORD_LENGTH_MAX = 1_000_000;

/**
 * Keeps endless input from filling the memory.
 *
 * @param line on which the record begins
 * @throws UnreadableInputError if the record is longer than 1,000,000 characters
 */
export function refuseLongRecord(line: number, text: string): void {
  if (text.length <= RECORD_LENGTH_MAX) return;
  throw new UnreadableInputError(
    `line ${line}: more than ${RECORD_LENGTH_MAX.toLocaleString('en')} characters, too long for a record`,
  );
}

/** A CR at the end may be the first half of a CR LF. */
const LINE_END = /\r\n|\n|\r(?!$)/;

/**
 * Splits UTF-8 into its lines, blank ones included, some at a time. A line ends with LF, CR LF or CR. Bytes that are not
 * UTF-8 become U+FFFD; a byte order mark is dropped.
 *
 * @throws UnreadableInputError if the text is UTF-16, or a line is too long to be a record
 */
export async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let isFirst = true;
  let lineCount = 0;
  let rest = '';
  for await (const chunk of bytes) {
    if (isFirst && isUtf16(chunk)) throw new UnreadableInputError('the file is UTF-16; save it as UTF-8');
    isFirst = false;
    const text = decoder.decode(chunk, { stream: true });
    rest += text;
    if (/[\r\n]/.test(text)) {
      const lines = rest.split(LINE_END);
      rest = lines.pop() ?? '';
      for (const line of lines) refuseLongRecord(++lineCount, line);
      yield lines;
    }
    refuseLongRecord(lineCount + 1, rest);
  }
  rest += decoder.decode();
  refuseLongRecord(lineCount + 1, rest);
  if (rest !== '') yield rest.split(LINE_END);
}

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
