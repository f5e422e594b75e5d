import type { NumberedText, UnreadableText } from './split-lines.ts';
import { refuseLongRecord } from './text-chunks.ts';

/**
 * Splits the text of a JSON array into the texts of its elements, a batch per chunk, without reading them: an array may
 * be one line of any length. Whatever stands between two commas is an element; who reads it sees what it is.
 *
 * @param chunks text whose first character that is no white space is the array's bracket
 * @throws UnreadableInputError where an element is too long to be a record
 */
export async function* splitArray(
  chunks: AsyncIterable<string>,
): AsyncGenerator<readonly (NumberedText | UnreadableText)[]> {
  const splitter = new ArraySplitter();
  for await (const chunk of chunks) yield splitter.take(chunk);
  yield splitter.end();
}

class ArraySplitter {
  #out: (NumberedText | UnreadableText)[] = [];
  /** Open brackets and braces, the array's own included. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #wasCarriageReturn = false;
  #line = 1;
  /** What chunks before this one held of the element. */
  #element = '';
  /** Where the element begins; 0 before its first character. */
  #elementLine = 0;
  #elementCount = 0;
  #state: 'before' | 'inside' | 'behind' | 'told' = 'before';

  take(chunk: string): readonly (NumberedText | UnreadableText)[] {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const character = chunk.charAt(i);
      this.#countLine(character);
      if (this.#isInString) {
        this.#stepInString(character);
        continue;
      }
      const isBorder = this.#step(character);
      if (!isBorder) continue;
      if (character !== '[') this.#emit(this.#element + chunk.slice(start, i), character === ']');
      start = i + 1;
    }
    if (this.#state === 'inside') {
      this.#element += chunk.slice(start);
      this.#refuseLong(this.#element);
    }
    return this.#flush();
  }

  end(): readonly (NumberedText | UnreadableText)[] {
    if (this.#state === 'inside') this.#out.push({ line: this.#line, reason: 'the array is not closed' });
    return this.#flush();
  }

  #flush() {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #countLine(character: string): void {
    if (character === '\r' || (character === '\n' && !this.#wasCarriageReturn)) this.#line++;
    this.#wasCarriageReturn = character === '\r';
  }

  #stepInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }

  /** @returns whether an element begins or ends here */
  #step(character: string): boolean {
    switch (character) {
      case '[':
      case '{':
        this.#depth++;
        if (this.#state === 'before') {
          this.#state = 'inside';
          return true;
        }
        break;
      case ']':
      case '}':
        this.#depth--;
        if (this.#depth === 0 && this.#state === 'inside') {
          this.#state = 'behind';
          return true;
        }
        break;
      case ',':
        if (this.#depth === 1 && this.#state === 'inside') return true;
        break;
      case '"':
        this.#isInString = true;
        break;
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        return false;
      default:
    }
    this.#note();
    return false;
  }

  /** Notes a character that is no white space. */
  #note(): void {
    if (this.#state === 'inside') this.#elementLine ||= this.#line;
    if (this.#state !== 'behind') return;
    this.#state = 'told';
    this.#out.push({ line: this.#line, reason: 'there is text behind the end of the array' });
  }

  #refuseLong(element: string): void {
    refuseLongRecord(this.#elementLine || this.#line, element.length);
  }

  #emit(text: string, isLast: boolean): void {
    this.#refuseLong(text);
    const isEmptyArray = isLast && this.#elementCount === 0 && this.#elementLine === 0;
    if (!isEmptyArray) this.#out.push({ line: this.#elementLine || this.#line, text });
    this.#elementCount++;
    this.#element = '';
    this.#elementLine = 0;
  }
}
