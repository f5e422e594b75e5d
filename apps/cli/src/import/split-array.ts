import type { RejectedRecord } from '@petstore/persistence';
import type { NumberedText } from './split-lines.ts';
import { refuseLongRecord } from './text-chunks.ts';

/**
 * Splits the text of a JSON array, which may be one line of any length, into the texts of its elements, a batch per
 * chunk. An element is any text between two commas; it is not parsed here.
 *
 * @param chunks text whose first character other than white space is the array's bracket
 * @throws UnreadableInputError where an element is too long to be a record
 */
export async function* splitArray(
  chunks: AsyncIterable<string>,
): AsyncGenerator<readonly (NumberedText | RejectedRecord)[]> {
  const splitter = new ArraySplitter();
  for await (const chunk of chunks) yield splitter.split(chunk);
  const problem = splitter.end();
  if (problem !== undefined) yield [problem];
}

const WHITE_SPACE = ' \t\r\n';

class ArraySplitter {
  #state: 'before' | 'inside' | 'after' | 'failed' = 'before';
  /** Open brackets and braces, the array's own included. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #line = 1;
  #previous = '';
  /** The beginning of the element, from earlier chunks. */
  #element = '';
  /** The line of the element's first character other than white space; 0 before it. */
  #elementLine = 0;
  #isFirst = true;

  split(chunk: string): readonly (NumberedText | RejectedRecord)[] {
    const items: (NumberedText | RejectedRecord)[] = [];
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const character = chunk.charAt(i);
      if (character === '\r' || (character === '\n' && this.#previous !== '\r')) this.#line++;
      this.#previous = character;
      const wasAfter = this.#state === 'after';
      if (this.#isBorder(character)) {
        const isEmptyArray = character === ']' && this.#isFirst && this.#elementLine === 0;
        if (character !== '[' && !isEmptyArray) items.push(this.#takeElement(chunk.slice(start, i)));
        start = i + 1;
      } else if (wasAfter && this.#state === 'failed') {
        items.push({ line: this.#line, reason: 'there is text after the end of the array' });
      }
    }
    if (this.#state === 'inside') {
      this.#element += chunk.slice(start);
      refuseLongRecord(this.#elementLine || this.#line, this.#element.length);
    }
    return items;
  }

  end(): RejectedRecord | undefined {
    return this.#state === 'inside' ? { line: this.#line, reason: 'the array is not closed' } : undefined;
  }

  /** Whether an element begins or ends at this character. */
  #isBorder(character: string): boolean {
    if (this.#isInString) this.#readInString(character);
    else if (!WHITE_SPACE.includes(character)) return this.#readToken(character);
    return false;
  }

  #readInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }

  #readToken(character: string): boolean {
    if (character === '"') this.#isInString = true;
    else if (character === '[' || character === '{') this.#depth++;
    else if (character === ']' || character === '}') this.#depth--;
    switch (this.#state) {
      case 'before':
        this.#state = 'inside';
        return true;
      case 'inside':
        if (this.#depth === 0) this.#state = 'after';
        else if (this.#depth > 1 || character !== ',') {
          this.#elementLine ||= this.#line;
          return false;
        }
        return true;
      default:
        this.#state = 'failed';
        return false;
    }
  }

  #takeElement(rest: string): NumberedText {
    const element = { line: this.#elementLine || this.#line, text: this.#element + rest };
    refuseLongRecord(element.line, element.text.length);
    this.#element = '';
    this.#elementLine = 0;
    this.#isFirst = false;
    return element;
  }
}
