/** Input that cannot be taken as a whole. The message is for the person who gave it. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
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

/** Looks at a text's first character that is no white space, and gives the whole text on. */
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
  }
  async function* whole() {
    if (head !== '') yield head;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { character, chunks: whole() };
}
