import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { describeUnfinished, replaceFile } from '../export/output-file.ts';
import { type RecordFormat, writeRecords } from '../export/record-formats.ts';
import type { ExportFlags, FileFormat } from '../file-options.ts';
import { Progress } from '../progress.ts';
import type { Session } from '../session.ts';

/** Where the records of a kind come from, and how they are written. */
export interface ExportKind<Value> {
  readonly list: (session: Session) => AsyncIterable<readonly Value[]>;
  /** How many there are. */
  readonly count: (session: Session) => Promise<number>;
  /** `array` is one JSON value. */
  readonly formats: Readonly<Record<FileFormat | 'array', RecordFormat<Value>>>;
}

/** Exports records to a file, and says how many; or to standard output. */
export async function runExport<Value>(
  context: CommandContext,
  file: string,
  { format = file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson', json }: ExportFlags,
  { list, count, formats }: ExportKind<Value>,
): Promise<void> {
  if (file === '-') return void (await printRecords(context, list, formats[json ? 'array' : format]));
  const { output, interruption, userFolder, withSession } = context;
  const path = resolve(userFolder, file);
  const progress = new Progress(output, 'exported');
  interruption.leaves(describeUnfinished(path));
  const exported = await withSession(async (session) => {
    const total = output.showsProgress ? await count(session) : undefined;
    const onProgress = (done: number) => progress.advance(done, total ? Math.min(1, done / total) : undefined);
    const done = await replaceFile(path, (write) =>
      writeRecords(list(session), formats[format], { write, onProgress }),
    );
    interruption.leaves(exportedText(done, path));
    return done;
  });
  if (json) await output.writeJson({ exported });
  else await output.write(`${exportedText(exported, path)}\n`);
}

const exportedText = (count: number, path: string): string => `${count.toLocaleString('en')} exported to ${path}`;

/** Writes records to standard output. @returns how many there were */
export function printRecords<Value>(
  { output, interruption, withSession }: CommandContext,
  list: ExportKind<Value>['list'],
  format: RecordFormat<Value>,
): Promise<number> {
  interruption.leaves('The output is incomplete.');
  return withSession((session) => writeRecords(list(session), format, { write: (text) => output.write(text) }));
}
