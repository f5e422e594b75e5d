import {
  type ImportOptions,
  type ImportRecord,
  type ImportResult,
  REJECTED_LISTED_MAX,
  type RejectedRecord,
} from '@petstore/persistence';
import { type Fields, orReason } from './fields.ts';
import { type PlainReader, type ReadRecord, type RecordShape, readRecords } from './read-records.ts';

/** The result of an import. */
export interface ImportReport {
  /** Number of records, good and bad, without the header and blank lines. */
  readonly read: number;
  readonly inserted: number;
  /** The first ones, {@link REJECTED_LISTED_MAX} at most. */
  readonly rejected: readonly RejectedRecord[];
  /** All of them. */
  readonly rejectedCount: number;
}

/** How one kind of record is read and stored. */
export interface ImportKind<Value> {
  readonly shape: RecordShape;
  /** @throws FieldError */
  readonly read: (fields: Fields) => Value;
  /** Reads records of the usual form at once. */
  readonly plain?: PlainReader<Value>;
  readonly store: (
    records: AsyncIterable<Iterable<ImportRecord<Value>>>,
    options: ImportOptions,
  ) => Promise<ImportResult>;
}

export interface ImportFileOptions {
  readonly skipBad: boolean;
  readonly onProgress: (readCount: number) => void;
  /** Called when the file has been read to its end. */
  readonly onEnd: () => void;
  /** Called before the database commits. */
  readonly onCommit: () => void;
}

/**
 * Imports a file as a stream.
 *
 * @throws UnreadableInputError where the file cannot be read at all; nothing is imported then
 */
export async function importFile<Value>(
  bytes: AsyncIterable<Uint8Array>,
  { shape, read, plain, store }: ImportKind<Value>,
  { skipBad, onProgress, onEnd, onCommit }: ImportFileOptions,
): Promise<ImportReport> {
  const unreadable: RejectedRecord[] = [];
  let unreadableCount = 0;
  let readCount = 0;

  async function* goodBatches(): AsyncGenerator<Iterable<ImportRecord<Value>>> {
    for await (const batch of readRecords(bytes, shape, plain)) {
      yield goodRecords(batch);
      onProgress(readCount);
    }
    onEnd();
  }

  function* goodRecords(batch: Iterable<ReadRecord<Value>>): Generator<ImportRecord<Value>> {
    for (const item of batch) {
      readCount++;
      const record =
        'fields' in item ? orReason(item.line, () => ({ line: item.line, value: read(item.fields) })) : item;
      if (!('reason' in record)) yield record;
      else if (++unreadableCount <= REJECTED_LISTED_MAX) unreadable.push(record);
    }
  }

  const result = await store(goodBatches(), {
    skipBad,
    hasUnreadable: () => unreadableCount > 0,
    onCommit,
  });
  return {
    read: readCount,
    inserted: result.insertedCount,
    rejected: [...unreadable, ...result.rejected].sort((a, b) => a.line - b.line).slice(0, REJECTED_LISTED_MAX),
    rejectedCount: unreadableCount + result.rejectedCount,
  };
}
