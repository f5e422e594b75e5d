import { Tokenizer, TokenParser } from '@streamparser/json';
import {
  NOT_UTF8,
  REPLACEMENT_CHARACTER,
  type ReadRecord,
  refuseLongRecord,
  toRecord,
  UnreadableInputError,
} from './record.ts';

/** Numbers keep their digits, which a double would round. */
class ExactTokenizer extends Tokenizer {
  protected override parseNumber(digits: string): number {
    return digits as unknown as number; // the parser of tokens passes on any value
  }
}

/**
 * Reads the records of a JSON array in batches. All of them may be on one line, so a record is identified by its position
 * in the array, from 1.
 *
 * @throws UnreadableInputError if the input is not valid JSON, or more than an array
 */
export async function* readArray(texts: AsyncIterable<string>): AsyncGenerator<readonly ReadRecord[]> {
  let records: ReadRecord[] = [];
  let count = 0;
  const tokenizer = new ExactTokenizer();
  const parser = new TokenParser({ paths: ['$.*'], keepStack: false });
  tokenizer.onToken = (token) => parser.write(token);
  parser.onValue = ({ value }) => void records.push(toRecord(++count, value));
  const parse = (step: () => void) => {
    try {
      step();
    } catch {
      throw new UnreadableInputError(`record ${count + 1}: not valid JSON, or not of one array alone`);
    }
  };
  let length = 0;
  for await (const text of texts) {
    if (text.includes(REPLACEMENT_CHARACTER)) throw new UnreadableInputError(`record ${count + 1}: ${NOT_UTF8}`);
    records = [];
    parse(() => tokenizer.write(text));
    yield records;
    length = records.length === 0 ? length + text.length : 0;
    refuseLongRecord(`record ${count + 1}`, length);
  }
  parse(() => {
    tokenizer.end();
    if (!parser.isEnded) parser.end(); // throws, because the array is incomplete
  });
}
