/**
 * A value as its file writes it. CSV does not tell numbers from texts, so its values are `untyped`; a number of JSON
 * keeps its digits, because a double would round the larger ids.
 */
export interface Field {
  readonly type: 'number' | 'text' | 'boolean' | 'null' | 'untyped' | 'other';
  readonly text: string;
}

export type Fields = ReadonlyMap<string, Field>;

/** A record of a file before anybody has looked at its values. */
export interface RawRecord {
  readonly line: number;
  readonly fields: Fields;
}

/** Why a record is refused. The message completes "line 5: ...". */
export class FieldError extends Error {
  override readonly name = 'FieldError';
}

const isMissing = (field: Field | undefined): field is undefined =>
  field === undefined || field.type === 'null' || (field.type === 'untyped' && field.text === '');

/** Reads a field that need not be there; `null` and an empty column count as not there. */
export function readOptional<Value>(
  fields: Fields,
  name: string,
  read: (field: Field) => Value | undefined,
  expected: string,
): Value | undefined {
  const field = fields.get(name);
  if (isMissing(field)) return undefined;
  const value = read(field);
  if (value === undefined) throw new FieldError(`${name} must be ${expected}, not ${show(field)}`);
  return value;
}

export function readRequired<Value>(
  fields: Fields,
  name: string,
  read: (field: Field) => Value | undefined,
  expected: string,
): Value {
  const value = readOptional(fields, name, read, expected);
  if (value === undefined) throw new FieldError(`${name} is missing; it must be ${expected}`);
  return value;
}

export function refuseUnknown(fields: Fields, known: readonly string[]): void {
  for (const name of fields.keys()) {
    if (!known.includes(name)) throw new FieldError(`${quote(name)} is not a field; there are ${known.join(', ')}`);
  }
}

/** The text of a field, where it may be of a type. */
export const textOf = (field: Field, type: Field['type']): string | undefined =>
  field.type === type || field.type === 'untyped' ? field.text : undefined;

function show({ type, text }: Field): string {
  if (type === 'other') return text.startsWith('[') ? 'an array' : 'an object';
  return type === 'text' || type === 'untyped' ? quote(text) : text;
}

const SHOWN_MAX = 40;

export const quote = (text: string): string =>
  JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text);
