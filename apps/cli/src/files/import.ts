import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import type { ImportItem, ImportOptions, ImportResult, ImportSource } from '@petstore/persistence';
import type { CommandContext } from '../context.ts';
import { ReportedError } from '../errors.ts';
import { Progress } from '../progress.ts';
import type { Session } from '../session.ts';
import { readInputFile, sizeOf } from './input-file.ts';
import type { ImportFlags } from './options.ts';
import { readRecords } from './read-records.ts';
import type { RawRecord, RecordShape } from './record.ts';

/** How to read and store one kind of record. */
export interface ImportKind<Value> {
  readonly shape: RecordShape;
  readonly read: (record: RawRecord) => ImportItem<Value>;
  readonly store: (session: Session, records: ImportSource<Value>, options: ImportOptions) => Promise<ImportResult>;
}

/**
 * Imports a file as a stream, and prints the report.
 *
 * @throws ReportedError if a record was rejected and --skip-bad was not given
 * @throws UnreadableInputError if the file cannot be read at all; nothing is imported then
 */
export async function runImport<Value>(
  { output, interruption, stdin, userFolder, withSession }: CommandContext,
  file: string,
  { skipBad = false, json }: ImportFlags,
  { shape, read, store }: ImportKind<Value>,
): Promise<void> {
  const path = file === '-' ? undefined : resolve(userFolder, file);
  const end = new AbortController();

  const importRecords = async (session: Session): Promise<ImportResult> => {
    const progress = new Progress(output, 'read', path === undefined ? undefined : sizeOf(path));
    let readBytes = 0;
    let readCount = 0;
    async function* counted() {
      const input = path === undefined ? addAbortSignal(end.signal, stdin) : readInputFile(path, end.signal);
      for await (const chunk of input) {
        readBytes += chunk.byteLength;
        yield chunk;
      }
    }
    async function* records() {
      for await (const batch of readRecords(counted(), shape)) {
        yield batch.map((record) => ('reason' in record ? record : read(record)));
        readCount += batch.length;
        progress.advance(readCount, readBytes);
      }
      progress.awaits('inserting');
    }
    const onCommit = () => {
      progress.awaits('committing');
      interruption.beginCommit();
    };
    try {
      const result = await store(session, records(), { skipBad, onCommit });
      interruption.setOutcome(summaryOf(result));
      return result;
    } finally {
      end.abort(); // the writer of a file that is refused may never end it
    }
  };

  interruption.setOutcome('Nothing was imported.');
  const result = await withSession(importRecords);
  const isRefused = result.rejectedCount > 0 && !skipBad;
  if (json) await output.writeJson(reportOf(result));
  else {
    for (const line of describeRejected(result)) output.message(line);
    if (isRefused) output.message('Nothing was imported. Fix these lines, or pass --skip-bad.');
    else await output.write(`${summaryOf(result)}\n`);
  }
  if (isRefused) throw new ReportedError();
}

const summaryOf = ({ insertedCount, readCount }: ImportResult): string =>
  `${insertedCount.toLocaleString('en')} of ${readCount.toLocaleString('en')} imported.`;

/** `notListed` is the number of rejected records beyond those listed; it is left out if there are none. */
function reportOf({ readCount, insertedCount, rejected, rejectedCount }: ImportResult) {
  const notListed = rejectedCount - rejected.length;
  return { read: readCount, inserted: insertedCount, rejected, ...(notListed > 0 && { notListed }) };
}

/** The maximum number of rejected lines shown without `--json`, which shows more. */
const SHOWN_MAX = 20;

function describeRejected({ rejected, rejectedCount }: ImportResult): readonly string[] {
  const lines = rejected.slice(0, SHOWN_MAX).map(({ line, reason }) => `line ${line}: ${reason}`);
  const more = rejectedCount - SHOWN_MAX;
  if (more <= 0) return lines;
  const which = rejectedCount === rejected.length ? 'them all' : `the first ${rejected.length.toLocaleString('en')}`;
  return [...lines, `and ${more.toLocaleString('en')} more; --json lists ${which}`];
}
