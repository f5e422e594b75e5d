/** Input that cannot be taken as a whole. The message is for the person who gave it. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
}

/** No record of ours is nearly as long. In UTF-16 code units. */
const RECORD_LENGTH_MAX = 1_000_000;

/**
 * Keeps what never ends from filling the memory.
 *
 * @param line on which the record begins
 * @throws UnreadableInputError where it is too long to be one
 */
export function refuseLongRecord(line: number, length: number): void {
  if (length <= RECORD_LENGTH_MAX) return;
  throw new UnreadableInputError(
    `line ${line}: longer than ${RECORD_LENGTH_MAX.toLocaleString('en')} characters, which no record is`,
  );
}

/**
 * Decodes UTF-8, without its byte order mark. Bytes that are no UTF-8 become U+FFFD, which the records then refuse.
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
 * Looks at a text's first character that is no white space, and gives the whole text on.
 *
 * @throws UnreadableInputError where there is none for long
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
