import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

const REASONS = { EEXIST: 'its unfinished file is there already' };

interface FileOptions {
  /**
   * Names the file that is written first, `PATH.<runId>.partial`. It is unique to this export, and never written to where it
   * exists, as a planted link would. @default a random one
   */
  readonly runId?: string;
}

/**
 * Writes a file as a stream, and replaces what was there in one step at the end: an export that fails, or is ended by a
 * signal, leaves no partial file. A link, a device or a pipe is written to directly.
 *
 * @throws CommandError if the file cannot be written, and whatever the texts throw
 */
export async function replaceFile(
  path: string,
  texts: AsyncIterable<string>,
  { runId = randomUUID() }: FileOptions = {},
): Promise<void> {
  const isReplaced = isPlainOrAbsent(path);
  const target = isReplaced ? `${path}.${runId}.partial` : path;
  const explain = (error: unknown) =>
    new CommandError(`${path} cannot be written: ${describeFileError(error, REASONS)}`, { cause: error });
  // What replaces a file is on the disk before it does.
  const stream = createWriteStream(target, { flags: isReplaced ? 'wx' : 'w', flush: isReplaced });
  await once(stream, 'open').catch((error: unknown) => {
    throw explain(error);
  });
  const remove = () => {
    if (isReplaced) rmSync(target, { force: true });
  };
  process.once('exit', remove);
  try {
    await pipeline(texts, stream);
    if (isReplaced) replace(path, target, explain);
  } catch (error) {
    remove();
    // The database's own failures are described already; what names a call of the system is of the file.
    throw error instanceof Error && 'syscall' in error ? explain(error) : error;
  } finally {
    process.off('exit', remove);
  }
}

/** The new file grants no user more than the file that it replaces. */
function replace(path: string, target: string, explain: (error: unknown) => CommandError): void {
  try {
    const former = lstatSync(path, { throwIfNoEntry: false });
    if (former !== undefined) chmodSync(target, lstatSync(target).mode & former.mode & 0o777);
    renameSync(target, path);
  } catch (error) {
    throw explain(error);
  }
}

/** What {@link replaceFile} leaves where it does not come to its end. */
export function describeUnfinished(path: string): string {
  if (!isPlainOrAbsent(path)) return `${path} is incomplete.`;
  return `${path} was not ${existsSync(path) ? 'changed' : 'written'}.`;
}

function isPlainOrAbsent(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CommandError(`${path} cannot be written: it is a folder`);
  return stats === undefined || stats.isFile();
}
