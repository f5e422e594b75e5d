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
    value = NEEDS_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    throw new FieldError(text.trim() === '' ? 'nothing is here' : 'not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof JsonNumber) {
    throw new FieldError('not a JSON object');
  }
  const fields = new Map<string, Field>();
  const record = value as Readonly<Record<string, unknown>>; // as any object is
  for (const name of Object.keys(record)) fields.set(name, fieldOf(record[name]));
  if (text.match(NAME_END)?.length !== fields.size) rejectRepeated(text);
  return { line, fields };
}

/**
 * Finds a field whose value a double might not keep digit by digit, or an array or object that may hold one. Looking for
 * it first is worth it: reading with the digits takes several times as long.
 */
const NEEDS_DIGITS = /"\s*:(?!\s*(?:["tfn]|(?:0|-?[1-9]\d{0,14})\s*[,}]))/;

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
      if (names.has(name)) throw new FieldError(`duplicate field ${quote(String(name))}`);
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
  if (typeof value === 'string') return { type: 'text', text: value };
  if (typeof value === 'number') return { type: 'number', text: String(value) };
  if (value instanceof JsonNumber) return { type: 'number', text: value.digits };
  if (typeof value === 'boolean') return { type: 'boolean', text: String(value) };
  if (value === null) return { type: 'null', text: 'null' };
  return { type: 'other', text: Array.isArray(value) ? '[' : '{' };
}
