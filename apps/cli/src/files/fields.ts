import { INT64_MAX, INT64_MIN } from '@petstore/domain';

/** The required form of ids. */
export const INT64 = `a whole number from ${INT64_MIN} to ${INT64_MAX}, in plain digits`;

/** Reads the fields of a record, and collects their faults. */
export class FieldReader {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #faults: string[] = [];

  /** @param known the allowed names of fields */
  constructor(values: Readonly<Record<string, unknown>>, known: readonly string[]) {
    this.#values = values;
    const unknown = Object.keys(values).find((name) => !known.includes(name));
    if (unknown !== undefined) this.#faults.push(`unknown field ${quote(unknown)} (known fields: ${known.join(', ')})`);
  }

  /** All faults of the record; `undefined` if there are none. */
  get faults(): string | undefined {
    return this.#faults.length === 0 ? undefined : this.#faults.join('; ');
  }

  /**
   * Reads a field from the text of its value, whether JSON quotes it or not; `null` and an empty text count as missing.
   *
   * @param parse returns `undefined` if the text is wrong
   */
  optional<Value>(name: string, parse: (text: string) => Value | undefined, expected: string): Value | undefined {
    const field = this.#values[name];
    if (isMissing(field)) return undefined;
    const value = typeof field === 'object' ? undefined : parse(String(field));
    if (value === undefined) this.#faults.push(`${name} must be ${expected}, not ${show(field)}`);
    return value;
  }

  /** @returns `undefined` if the field is missing or wrong */
  required<Value>(name: string, parse: (text: string) => Value | undefined, expected: string): Value | undefined {
    if (isMissing(this.#values[name])) this.#faults.push(`${name} is missing (${expected})`);
    return this.optional(name, parse, expected);
  }
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

const show = (value: unknown): string =>
  typeof value === 'object' ? (Array.isArray(value) ? 'an array' : 'an object') : quote(String(value));

const SHOWN_MAX = 40;

/** What cannot be seen, such as a no-break or zero-width space, and what terminals obey. JSON leaves these as they are. */
const INVISIBLE = /(?! )[\p{C}\p{Z}]/gu;

export const quote = (text: string): string =>
  JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text).replace(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
