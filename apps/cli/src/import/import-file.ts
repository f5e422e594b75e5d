import type { ImportOptions, ImportRecord, ImportResult, RejectedRecord } from '@petstore/persistence';
import { type Fields, orReason } from './fields.ts';
import { type RecordShape, readRecords } from './read-records.ts';

/** The result of an import. */
export interface ImportReport {
  /** Number of records, good and bad, without the header and blank lines. */
  readonly read: number;
  readonly inserted: number;
  readonly rejected: readonly RejectedRecord[];
}

/** How one kind of record is read and stored. */
export interface ImportKind<Value> {
  readonly shape: RecordShape;
  /** @throws FieldError */
  readonly read: (fields: Fields) => Value;
  readonly store: (records: AsyncIterable<ImportRecord<Value>>, options: ImportOptions) => Promise<ImportResult>;
}

export interface ImportFileOptions {
  readonly skipBad: boolean;
  readonly onProgress: (readCount: number) => void;
}

/**
 * Imports a file as a stream.
 *
 * @throws UnreadableInputError where the file cannot be read at all; nothing is imported then
 */
export async function importFile<Value>(
  bytes: AsyncIterable<Uint8Array>,
  { shape, read, store }: ImportKind<Value>,
  { skipBad, onProgress }: ImportFileOptions,
): Promise<ImportReport> {
  const unreadable: RejectedRecord[] = [];
  let readCount = 0;

  async function* goodRecords(): AsyncGenerator<ImportRecord<Value>> {
    for await (const batch of readRecords(bytes, shape)) {
      readCount += batch.length;
      for (const item of batch) {
        const record =
          'reason' in item ? item : orReason(item.line, () => ({ line: item.line, value: read(item.fields) }));
        if ('reason' in record) unreadable.push(record);
        else yield record;
      }
      onProgress(readCount);
    }
  }

  const { insertedCount, rejected } = await store(goodRecords(), {
    skipBad,
    hasUnreadable: () => unreadable.length > 0,
  });
  const all = [...unreadable, ...rejected].sort((a, b) => a.line - b.line);
  return { read: readCount, inserted: insertedCount, rejected: all };
}
