import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { describeFileError } from '@petstore/runtime';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { type ImportKind, type ImportReport, importFile } from '../import/import-file.ts';
import type { Session } from '../session.ts';

export interface ImportFlags extends JsonFlag {
  readonly skipBad?: true;
}

/** Rejected lines that are shown without `--json`, which has them all. */
const REJECTED_SHOWN_MAX = 20;

/** Thrown after the report has been printed. */
export class ImportRejectedError extends Error {
  override readonly name = 'ImportRejectedError';
}

/**
 * Imports a file and prints the report.
 *
 * @throws ImportRejectedError where a record was rejected and --skip-bad was not given
 */
export async function runImport<Value>(
  { output, stdin, userFolder, withSession }: CommandContext,
  file: string,
  flags: ImportFlags,
  kindOf: (session: Session) => ImportKind<Value>,
): Promise<void> {
  const skipBad = flags.skipBad === true;
  const report = await withSession((session) =>
    importFile(file === '-' ? stdin : readFile(resolve(userFolder, file)), kindOf(session), {
      skipBad,
      onProgress: (readCount) => output.progress(`${readCount.toLocaleString('en')} read`),
    }),
  );
  const isRejected = report.rejected.length > 0 && !skipBad;
  if (flags.json) await output.writeJson(report);
  else {
    showRejected(output, report);
    const summary = `${report.inserted.toLocaleString('en')} of ${report.read.toLocaleString('en')} imported`;
    if (isRejected) output.message(`${summary}; use --skip-bad to import the valid lines only.`);
    else await output.write(`${summary}\n`);
  }
  if (isRejected) throw new ImportRejectedError();
}

function showRejected({ message }: CommandContext['output'], { rejected }: ImportReport): void {
  for (const { line, reason } of rejected.slice(0, REJECTED_SHOWN_MAX)) message(`line ${line}: ${reason}`);
  const more = rejected.length - REJECTED_SHOWN_MAX;
  if (more > 0) message(`and ${more.toLocaleString('en')} more; --json lists them all`);
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 1 << 18 });
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
}
