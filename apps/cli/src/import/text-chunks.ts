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
 * @throws UnreadableInputError where the record is longer than {@link RECORD_LENGTH_MAX}
 */
export function refuseLongRecord(line: number, length: number): void {
  if (length <= RECORD_LENGTH_MAX) return;
  throw new UnreadableInputError(
    `line ${line}: more than ${RECORD_LENGTH_MAX.toLocaleString('en')} characters, too long for a record`,
  );
}

/**
 * Decodes UTF-8, without its byte order mark. Invalid bytes become U+FFFD, for which the record is then rejected.
 *
 * @throws UnreadableInputError where the text is UTF-16
 */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let isFirst = true;
  for await (const chunk of bytes) {
    if (isFirst && isUtf16Mark(chunk)) throw new UnreadableInputError('the file is UTF-16; save it as UTF-8');
    isFirst = false;
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') yield text;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

const isUtf16Mark = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/**
 * Finds a text's first character other than white space. Returns the whole text, too.
 *
 * @throws UnreadableInputError where too much white space precedes it
 */
export async function peekCharacter(
  chunks: AsyncIterable<string>,
): Promise<{ readonly character: string | undefined; readonly chunks: AsyncIterable<string> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = '';
  let character: string | undefined;
  while (character === undefined) {
    const { done, value } = await iterator.next();
    if (done) break;
    head += value;
    character = /\S/.exec(value)?.[0];
    if (character === undefined) refuseLongRecord(1, head.length);
  }
  async function* whole() {
    if (head !== '') yield head;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { character, chunks: whole() };
}
