const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Cuts the text of a JSON array, which arrives in chunks, between its elements. Keeps no more than the beginning of one
 * element. It looks at strings, brackets and commas alone: parsing the elements checks the rest.
 */
export class JsonArraySplitter {
  /** Whether the array has begun, and ended. */
  #state: 'before' | 'inside' | 'after' = 'before';
  /** The beginning of an element, all of which has been looked at. */
  #rest = '';
  /** Number of brackets that are open within the array. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether the array has ended. */
  get isComplete(): boolean {
    return this.#state === 'after';
  }

  /**
   * @returns the elements that are now complete, separated by commas; the empty string where there are none
   * @throws SyntaxError when the text is no array, or goes on after it
   */
  push(chunk: string): string {
    if (this.#state !== 'inside') return this.#pushOutside(chunk);
    const text = this.#rest + chunk;
    const end = this.#findEnd(text, this.#rest.length);
    if (end === undefined) {
      this.#rest = text;
      return '';
    }
    this.#rest = text.slice(end + 1);
    if (this.isComplete) this.#pushOutside(this.#rest);
    return text.slice(0, end);
  }

  #pushOutside(chunk: string): string {
    const text = chunk.trimStart();
    if (text === '') return '';
    if (this.#state === 'after' || text.charCodeAt(0) !== OPENING_BRACKET) {
      throw new SyntaxError('The text is not one JSON array.');
    }
    this.#state = 'inside';
    return this.push(text.slice(1));
  }

  /** Where the last complete element ends: at a comma, or at the end of the array. */
  #findEnd(text: string, from: number): number | undefined {
    let end: number | undefined;
    let depth = this.#depth;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (let i = from; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (code === BACKSLASH) isEscaped = true;
        else if (code === QUOTE) isInString = false;
      } else if (code === QUOTE) isInString = true;
      else if (code === COMMA && depth === 0) end = i;
      else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth++;
      else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
        depth--;
        if (depth < 0) {
          this.#state = 'after';
          return i;
        }
      }
    }
    this.#depth = depth;
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
    return end;
  }
}
