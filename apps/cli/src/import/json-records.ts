import { type Field, FieldError, type RawRecord } from './fields.ts';
import type { NumberedText } from './split-lines.ts';

/**
 * Reads one object of JSON.
 *
 * @throws FieldError
 */
export function parseJsonRecord({ line, text }: NumberedText): RawRecord {
  let value: unknown;
  try {
    value = JSON.parse(text, keepDigits);
  } catch {
    throw new FieldError(text.trim() === '' ? 'there is no record here' : 'this is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof JsonNumber) {
    throw new FieldError('this is not a JSON object');
  }
  return { line, fields: new Map(Object.entries(value).map(([name, field]) => [name, fieldOf(field)])) };
}

/** A number of JSON, with all its digits. */
class JsonNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }
}

const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' ? new JsonNumber(context?.source ?? String(value)) : value;

function fieldOf(value: unknown): Field {
  if (value instanceof JsonNumber) return { type: 'number', text: value.digits };
  if (typeof value === 'string') return { type: 'text', text: value };
  if (typeof value === 'boolean') return { type: 'boolean', text: String(value) };
  if (value === null) return { type: 'null', text: 'null' };
  return { type: 'other', text: Array.isArray(value) ? '[' : '{' };
}
