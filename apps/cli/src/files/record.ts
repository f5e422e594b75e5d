import type { RejectedRecord } from '@petstore/persistence';

/** The fields of a file's records. */
export interface RecordShape {
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

/** A record of a file whose values are not checked yet: from CSV, all are texts. */
export interface RawRecord {
  /** The line on which it begins, as an editor counts. */
  readonly line: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A record, or the reason why there is none. */
export type ReadRecord = RawRecord | RejectedRecord;

/** What decoders put in place of bytes that are not UTF-8. */
export const REPLACEMENT_CHARACTER = '\ufffd';
export const NOT_UTF8 = 'not valid UTF-8; save the file as UTF-8';

/** Far more than any record needs: endless input is not to fill the memory. CSV counts bytes, NDJSON UTF-16 code units. */
export const RECORD_LENGTH_MAX = 1_000_000;

/** Input that cannot be read at all. The message is shown to the user. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
}

/** @param line the one on which the record begins */
export const tooLong = (line: number): UnreadableInputError =>
  new UnreadableInputError(
    `line ${line}: more than ${RECORD_LENGTH_MAX.toLocaleString('en')} characters, too long for a record`,
  );
