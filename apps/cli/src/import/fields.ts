import type { RejectedRecord } from '@petstore/persistence';

/**
 * A value as the file writes it. CSV does not distinguish numbers from texts, so its values are `untyped`. A JSON number
 * keeps its digits, because a double would round large ids.
 */
export interface Field {
  readonly type: 'number' | 'text' | 'boolean' | 'null' | 'untyped' | 'other';
  readonly text: string;
}

export type Fields = ReadonlyMap<string, Field>;

/** A record of a file, its values not yet validated. */
export interface RawRecord {
  readonly line: number;
  readonly fields: Fields;
}

/** Why a record is rejected. The message completes "line 5: ...". */
export class FieldError extends Error {
  override readonly name = 'FieldError';
}

/** Runs work on a record. @returns its result, or the reason why the record is rejected */
export function orReason<Result>(line: number, work: () => Result): Result | RejectedRecord {
  try {
    return work();
  } catch (error) {
    if (error instanceof FieldError) return { line, reason: error.message };
    throw error;
  }
}

const isMissing = (field: Field | undefined): field is undefined =>
  field === undefined || field.type === 'null' || (field.type === 'untyped' && field.text === '');

/** @returns `undefined` where the field is something else */
type ReadField<Value> = (field: Field) => Value | undefined;

/** Reads the fields of a record, and keeps what is wrong with each. */
export class FieldReader {
  readonly #fields: Fields;
  readonly #faults: string[] = [];

  /** @param known the names that fields may have */
  constructor(fields: Fields, known: readonly string[]) {
    this.#fields = fields;
    for (const name of fields.keys()) {
      if (known.includes(name)) continue;
      this.#faults.push(`unknown field ${quote(name)} (the fields are ${known.join(', ')})`);
      break;
    }
  }

  get isFaulty(): boolean {
    return this.#faults.length > 0;
  }

  /** All that is wrong with the record. */
  get error(): FieldError {
    return new FieldError(this.#faults.join('; '));
  }

  /** Reads an optional field; `null` and an empty column count as missing. */
  optional<Value>(name: string, read: ReadField<Value>, expected: string): Value | undefined {
    const field = this.#fields.get(name);
    if (isMissing(field)) return undefined;
    const value = read(field);
    if (value === undefined) this.#faults.push(`${name} must be ${expected}, not ${show(field)}`);
    return value;
  }

  /** @returns `undefined` where it is missing or wrong */
  required<Value>(name: string, read: ReadField<Value>, expected: string): Value | undefined {
    if (!isMissing(this.#fields.get(name))) return this.optional(name, read, expected);
    this.#faults.push(`${name} is missing (${expected})`);
    return undefined;
  }
}

/** The text of a field of the given type; an untyped field may be of any. */
export const textOf = (field: Field, type: Field['type']): string | undefined =>
  field.type === type || field.type === 'untyped' ? field.text : undefined;

function show({ type, text }: Field): string {
  if (type === 'other') return text.startsWith('[') ? 'an array' : 'an object';
  return type === 'text' || type === 'untyped' ? quote(text) : text;
}

const SHOWN_MAX = 40;

export const quote = (text: string): string =>
  JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text);
