/** A piece of input, and the line on which it begins, as an editor counts. */
export interface NumberedText {
  readonly line: number;
  readonly text: string;
}

/** A place in the input that nothing can be made of. */
export interface UnreadableText {
  readonly line: number;
  readonly reason: string;
}

const LINE_END = /\r\n|\n|\r/;

/** Splits text into its lines, blank ones included, a batch per chunk. A line ends with LF, CR LF or CR. */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<readonly NumberedText[]> {
  let line = 1;
  let rest = '';
  const number = (text: string): NumberedText => ({ line: line++, text });
  for await (const chunk of chunks) {
    const text = rest + chunk;
    // A CR at the end may be the first half of a CR LF.
    const isCut = text.endsWith('\r');
    const texts = (isCut ? text.slice(0, -1) : text).split(LINE_END);
    rest = `${texts.pop() ?? ''}${isCut ? '\r' : ''}`;
    yield texts.map(number);
  }
  if (rest !== '') yield rest.replace(/\r$/, '').split(LINE_END).map(number);
}
