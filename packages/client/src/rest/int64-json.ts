import type { components } from './document.ts';
import type { components as componentsOfV2 } from './document-v2.ts';

type Schemas = components['schemas'] & componentsOfV2['schemas'];
type BigIntKeys<Schema> = { [Key in keyof Schema]-?: bigint extends Schema[Key] ? Key : never }[keyof Schema];
type Int64Field = { [Name in keyof Schemas]: BigIntKeys<Schemas[Name]> }[keyof Schemas];

/** Every field that a document declares as a 64-bit integer; the compiler requires all of them. */
const INT64_FIELDS = { id: true, petId: true, orderId: true } satisfies Record<Int64Field, true>;

const FIELD_NAMES = Object.keys(INT64_FIELDS);

/** Numbers with fewer digits are exact in JavaScript. */
const MANY_DIGITS = /\d{16}/;

/** A 64-bit integer in its field. It cannot match inside a string, in which a backslash precedes every quotation mark. */
const INT64_VALUES = new RegExp(`("(?:${FIELD_NAMES.join('|')})"\\s*:\\s*)(-?\\d+)(?=\\s*[,}])`, 'g');

/** @throws SyntaxError if the text is not JSON or not an array of objects */
export const parseObjects = <Value extends object>(text: string): Value[] => asObjects(JSON.parse(text)) as Value[]; // by the document

/**
 * Parses objects whose 64-bit integers `JSON.parse` would round. Objects in them must hold none.
 *
 * @param text a JSON array of objects
 * @returns the objects, with 64-bit integers as `bigint`
 * @throws SyntaxError if the text is not JSON or not an array of objects; RangeError if such a field is not an integer
 */
export const parseInt64Objects = <Value extends object>(text: string): Value[] =>
  withBigInts(JSON.parse(MANY_DIGITS.test(text) ? text.replace(INT64_VALUES, '$1"$2"') : text));

/**
 * Changes the 64-bit integers of parsed objects to `bigint`.
 *
 * @throws SyntaxError if the value is not an array of objects; RangeError if such a field is not an integer
 */
export function withBigInts<Value extends object>(values: unknown): Value[] {
  const objects = asObjects(values);
  for (const value of objects) {
    for (const name of FIELD_NAMES) {
      const number = value[name];
      if (typeof number === 'number' || typeof number === 'string') value[name] = BigInt(number);
    }
  }
  return objects as Value[]; // by the document
}

function asObjects(values: unknown): Record<string, unknown>[] {
  if (Array.isArray(values) && values.every(isRecord)) return values;
  throw new SyntaxError('The JSON is not an array of objects.');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
