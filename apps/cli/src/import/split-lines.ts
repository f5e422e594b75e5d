import { refuseLongRecord } from './text-chunks.ts';

/** A piece of input and the line on which it begins, counted from 1. */
export interface NumberedText {
  readonly line: number;
  readonly text: string;
}

const LINE_END = /\r\n|\n|\r/;

/**
 * Splits text into its lines, blank ones included, a batch per chunk. A line ends with LF, CR LF or CR.
 *
 * @throws UnreadableInputError where a line is too long to be a record
 */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<readonly NumberedText[]> {
  let line = 1;
  /** The beginning of a line, from earlier chunks. */
  let begun = '';
  /** A CR at the end of the last chunk, which may be the first half of a CR LF. */
  let held = '';
  const take = (text: string): NumberedText => {
    refuseLongRecord(line, text.length);
    return { line: line++, text };
  };
  for await (const chunk of chunks) {
    const text = held + chunk;
    held = text.endsWith('\r') ? '\r' : '';
    const [first = '', ...others] = text.slice(0, text.length - held.length).split(LINE_END);
    const texts = [begun + first, ...others];
    begun = texts.pop() ?? '';
    yield texts.map(take);
    refuseLongRecord(line, begun.length);
  }
  if (begun !== '' || held !== '') yield [take(begun)];
}
