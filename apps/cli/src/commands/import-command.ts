import { createReadStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeFileError } from '@petstore/runtime';
import type { JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { type ImportKind, type ImportReport, importFile } from '../import/import-file.ts';
import { describeProgress } from '../progress.ts';
import type { Session } from '../session.ts';

export interface ImportFlags extends JsonFlag {
  readonly skipBad?: true;
}

/** Rejected lines that are shown without `--json`, which has more of them. */
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
  const source = file === '-' ? new ImportSource(stdin) : openFile(resolve(userFolder, file));
  const beganAtMs = performance.now();
  const onProgress = (readCount: number) => {
    const done = `${readCount.toLocaleString('en')} read`;
    output.progress(describeProgress({ done, fraction: source.fraction, elapsedMs: performance.now() - beganAtMs }));
  };
  const report = await withSession((session) => importFile(source.read(), kindOf(session), { skipBad, onProgress }));
  const isRejected = report.rejectedCount > 0 && !skipBad;
  if (flags.json) await output.writeJson(jsonOf(report));
  else {
    showRejected(output, report);
    const summary = `${report.inserted.toLocaleString('en')} of ${report.read.toLocaleString('en')} imported`;
    if (isRejected) output.message(`${summary}; use --skip-bad to import the valid lines only.`);
    else await output.write(`${summary}\n`);
  }
  if (isRejected) throw new ImportRejectedError();
}

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
    return this.#totalBytes && Math.min(1, this.#readBytes / this.#totalBytes);
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#chunks) {
      this.#readBytes += chunk.byteLength;
      yield chunk;
    }
  }
}

function openFile(path: string): ImportSource {
  try {
    const { size } = statSync(path);
    return new ImportSource(readFile(path), size > 0 ? size : undefined); // a pipe has none
  } catch {
    return new ImportSource(readFile(path)); // which says what is wrong
  }
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 1 << 18 });
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
}
