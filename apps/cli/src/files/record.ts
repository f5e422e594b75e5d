import type { RejectedRecord } from '@petstore/persistence';

/** The fields of a file's records. */
export interface RecordShape {
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

/** A record of a file whose values are not checked yet: from CSV, all are texts. */
export interface RawRecord {
  /** The line as an editor counts it; for a JSON array, the position in it, from 1. */
  readonly line: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A record, or the reason why there is none. */
export type ReadRecord = RawRecord | RejectedRecord;

/** @param value a parsed JSON value, with numbers as texts */
export const toRecord = (line: number, value: unknown): ReadRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { line, values: value as RawRecord['values'] } // a parsed JSON object
    : { line, reason: 'not a JSON object' };

/** The decoder's replacement for bytes that are not UTF-8. */
export const REPLACEMENT_CHARACTER = '\ufffd';
export const NOT_UTF8 = 'not valid UTF-8; save the file as UTF-8';

/** Input that cannot be read at all. The message is shown to the user. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
}

/** In UTF-16 code units: far more than any record needs. */
const RECORD_LENGTH_MAX = 1_000_000;

/**
 * Prevents endless input from filling the memory.
 *
 * @param place the record's place: `line 3`
 * @throws UnreadableInputError if the record is longer than 1,000,000 characters
 */
export function refuseLongRecord(place: string, length: number): void {
  if (length <= RECORD_LENGTH_MAX) return;
  throw new UnreadableInputError(
    `${place}: more than ${RECORD_LENGTH_MAX.toLocaleString('en')} characters, too long for a record`,
  );
}
