import { type Field, FieldError, quote, type RawRecord } from './fields.ts';
import type { NumberedText } from './split-lines.ts';

/**
 * Parses one JSON object.
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
  const fields = new Map(Object.entries(value).map(([name, field]) => [name, fieldOf(field)]));
  if (text.match(NAME_END)?.length !== fields.size) rejectRepeated(text);
  return { line, fields };
}

/** Ends each name; may also match within a string, but never misses a name. */
const NAME_END = /"\s*:/g;

/** A string, with the colon that follows a name; or a bracket. */
const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:?)|[[\]{}]/g;

/**
 * JSON.parse silently keeps the last of several fields of one name; this rejects them.
 *
 * @param text valid JSON of an object
 * @throws FieldError
 */
function rejectRepeated(text: string): void {
  const names = new Set<unknown>();
  let depth = 0;
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    if (string === undefined) depth += token === '{' || token === '[' ? 1 : -1;
    else if (colon !== '' && depth === 1) {
      const name: unknown = JSON.parse(string);
      if (names.has(name)) throw new FieldError(`${quote(String(name))} appears twice`);
      names.add(name);
    }
  }
}

/** A JSON number with all its digits. */
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
