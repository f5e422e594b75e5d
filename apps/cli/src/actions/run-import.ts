import { resolve } from 'node:path';
import type { CommandContext } from '../context.ts';
import { ImportRejectedError } from '../errors.ts';
import type { ImportFlags } from '../file-options.ts';
import { type ImportFileOptions, type ImportKind, type ImportReport, importFile } from '../import/import-file.ts';
import { readInputFile, sizeOf } from '../input-file.ts';
import { Progress } from '../progress.ts';
import { MAY_MAKE_DATABASE, type Session } from '../session.ts';

/** Rejected lines that are shown without `--json`, which has more of them. */
const REJECTED_SHOWN_MAX = 20;

/**
 * Imports a file and prints the report.
 *
 * @throws ImportRejectedError where a record was rejected and --skip-bad was not given
 */
export async function runImport<Value>(
  { output, interruption, stdin, userFolder, withSession }: CommandContext,
  file: string,
  flags: ImportFlags,
  kindOf: (session: Session) => ImportKind<Value>,
): Promise<void> {
  const skipBad = flags.skipBad === true;
  const source = file === '-' ? new ImportSource(stdin) : openFile(resolve(userFolder, file));
  const progress = new Progress(output, 'read');
  const options: ImportFileOptions = {
    skipBad,
    onProgress: (readCount) => progress.advance(readCount, source.fraction),
    onEnd: () => progress.awaits('inserting'),
    onCommit() {
      progress.awaits('committing');
      interruption.commits();
    },
  };
  interruption.leaves('Nothing was imported.');
  const report = await withSession(async (session) => {
    const imported = await importFile(source.read(), kindOf(session), options);
    interruption.leaves(summaryOf(imported));
    return imported;
  }, MAY_MAKE_DATABASE);
  const isRejected = report.rejectedCount > 0 && !skipBad;
  if (flags.json) await output.writeJson(jsonOf(report));
  else {
    showRejected(output, report);
    if (isRejected) output.message('Nothing was imported. Fix these lines, or pass --skip-bad.');
    else await output.write(`${summaryOf(report)}\n`);
  }
  if (isRejected) throw new ImportRejectedError();
}

const summaryOf = ({ inserted, read }: ImportReport): string =>
  `${inserted.toLocaleString('en')} of ${read.toLocaleString('en')} imported.`;

/** `notListed` is how many were rejected beyond those that are listed; it is there only where there are any. */
function jsonOf({ read, inserted, rejected, rejectedCount }: ImportReport) {
  const notListed = rejectedCount - rejected.length;
  return { read, inserted, rejected, ...(notListed > 0 && { notListed }) };
}

function showRejected({ message }: CommandContext['output'], { rejected, rejectedCount }: ImportReport): void {
  for (const { line, reason } of rejected.slice(0, REJECTED_SHOWN_MAX)) message(`line ${line}: ${reason}`);
  const more = rejectedCount - REJECTED_SHOWN_MAX;
  if (more <= 0) return;
  const which = rejectedCount === rejected.length ? 'them all' : `the first ${rejected.length.toLocaleString('en')}`;
  message(`and ${more.toLocaleString('en')} more; --json lists ${which}`);
}

/** What is imported, and how much of it was read. */
class ImportSource {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #totalBytes: number | undefined;
  #readBytes = 0;

  constructor(chunks: AsyncIterable<Uint8Array>, totalBytes?: number) {
    this.#chunks = chunks;
    this.#totalBytes = totalBytes;
  }

  /** 0 to 1; `undefined` where it is not known how much there is. */
  get fraction(): number | undefined {
    return this.#totalBytes ? Math.min(1, this.#readBytes / this.#totalBytes) : undefined;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#chunks) {
      this.#readBytes += chunk.byteLength;
      yield chunk;
    }
  }
}

const openFile = (path: string): ImportSource => new ImportSource(readInputFile(path), sizeOf(path));
