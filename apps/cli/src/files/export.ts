import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { Progress } from '../progress.ts';
import type { Session } from '../session.ts';
import type { ExportFlags, FileFormat } from './options.ts';
import { FileReplacement } from './replace-file.ts';

/** The format of records, which are written in batches. */
export interface RecordFormat<Value> {
  readonly head?: string;
  /** The text between two batches. */
  readonly separator?: string;
  readonly toText: (batch: readonly Value[]) => string;
  readonly tail?: string;
}

/** One line for each record. */
export const lines = <Value>(head: string, toText: (value: Value) => string): RecordFormat<Value> => ({
  head,
  toText: (values) => values.map((value) => `${toText(value)}\n`).join(''),
});

/** One JSON value, with one record per line. */
export const jsonArray = <Value>(toJson: (value: Value) => string): RecordFormat<Value> => ({
  head: '[',
  separator: ',\n',
  toText: (values) => values.map(toJson).join(',\n'),
  tail: ']\n',
});

/** The source and the formats of one kind of records. */
export interface ExportKind<Value> {
  readonly list: (session: Session) => AsyncIterable<readonly Value[]>;
  /** Counts the records. */
  readonly count: (session: Session) => Promise<number>;
  /** `array` is one JSON value; the other formats can be imported. */
  readonly formats: Readonly<Record<FileFormat | 'array', RecordFormat<Value>>>;
}

/** Exports records to a file and prints their number, or to standard output. */
export async function runExport<Value>(
  context: CommandContext,
  file: string,
  { format = file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson', json }: ExportFlags,
  { list, count, formats }: ExportKind<Value>,
): Promise<void> {
  if (file === '-') return printRecords(context, list, formats[json ? 'array' : format]);
  const { output, interruption, userFolder, withSession } = context;
  const path = resolve(userFolder, file);
  let exported = 0;
  const summary = () => `${exported.toLocaleString('en')} exported to ${path}`;
  using replacement = new FileReplacement(path);
  interruption.setOutcome(replacement.unfinished);
  await withSession(async (session) => {
    const progress = new Progress(output, 'exported', output.stderr.isTTY ? await count(session) : undefined);
    const onProgress = (done: number) => {
      exported = done;
      progress.advance(done);
    };
    await replacement.write(formatRecords(list(session), formats[format], onProgress));
    interruption.setOutcome(summary());
  });
  if (json) await output.writeJson({ exported });
  else await output.write(`${summary()}\n`);
}

/** Writes records to standard output. */
export function printRecords<Value>(
  { output, interruption, withSession }: CommandContext,
  list: ExportKind<Value>['list'],
  format: RecordFormat<Value>,
): Promise<void> {
  interruption.setOutcome('The output is incomplete.');
  return withSession(async (session) => {
    for await (const text of formatRecords(list(session), format)) await output.write(text);
  });
}

/**
 * Writes records as text, batch by batch: any number of them takes the same memory.
 *
 * @param onProgress called with the number of records written so far
 */
async function* formatRecords<Value>(
  batches: AsyncIterable<readonly Value[]>,
  { head = '', separator = '', toText, tail = '' }: RecordFormat<Value>,
  onProgress?: (count: number) => void,
): AsyncGenerator<string> {
  let count = 0;
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    yield `${count === 0 ? head : separator}${toText(batch)}`;
    count += batch.length;
    onProgress?.(count);
  }
  yield count === 0 ? `${head}${tail}` : tail;
}
