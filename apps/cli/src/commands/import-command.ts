import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonFlags } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandFailure } from '../failure.ts';
import { describeFileError } from '../file-errors.ts';
import { type ImportKind, type ImportReport, importFile } from '../import/import-file.ts';
import type { Session } from '../session.ts';

export interface ImportFlags extends JsonFlags {
  readonly skipBad?: true;
}

/** Rejected lines that are shown to a person; `--json` has them all. */
const REJECTED_SHOWN_MAX = 20;

/** Thrown after the report has been printed. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused';
}

/**
 * Imports a file and prints the report.
 *
 * @throws ImportRefused where something was rejected and nothing was to be skipped
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
  const isRefused = report.rejected.length > 0 && !skipBad;
  if (flags.json) await output.write(`${JSON.stringify(report)}\n`);
  else {
    sayRejected(output, report);
    const summary = `${report.inserted.toLocaleString('en')} of ${report.read.toLocaleString('en')} imported`;
    if (isRefused) output.say(`${summary}: all or nothing, unless --skip-bad says otherwise.`);
    else await output.write(`${summary}\n`);
  }
  if (isRefused) throw new ImportRefused();
}

function sayRejected({ say }: CommandContext['output'], { rejected }: ImportReport): void {
  for (const { line, reason } of rejected.slice(0, REJECTED_SHOWN_MAX)) say(`line ${line}: ${reason}`);
  const more = rejected.length - REJECTED_SHOWN_MAX;
  if (more > 0) say(`and ${more.toLocaleString('en')} more; --json lists them all`);
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 1 << 18 });
  } catch (error) {
    throw new CommandFailure(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
}
