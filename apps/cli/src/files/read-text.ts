import { refuseLongRecord, UnreadableInputError } from './record.ts';

/**
 * Decodes UTF-8. Bytes that are not UTF-8 become U+FFFD; a byte order mark is dropped.
 *
 * @throws UnreadableInputError if the text is UTF-16
 */
export async function* readText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let isFirst = true;
  for await (const chunk of bytes) {
    const mark = isFirst ? `${chunk[0]} ${chunk[1]}` : '';
    if (mark === '255 254' || mark === '254 255')
      throw new UnreadableInputError('the file is UTF-16; save it as UTF-8');
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
