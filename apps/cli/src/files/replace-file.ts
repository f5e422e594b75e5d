import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

const REASONS = { EEXIST: 'its unfinished file is there already' };

interface FileOptions {
  /**
   * Names the temporary file, `PATH.<runId>.partial`. It is unique to this export. If it already exists, perhaps as a
   * planted link, the export fails. @default a random one
   */
  readonly runId?: string;
}

/**
 * Writes a file as a stream, and replaces an existing one in a single step at the end: an export that fails, or is ended
 * by a signal, leaves no partial file. A link, a device or a pipe is written to directly.
 *
 * @throws CommandError if the file cannot be written; also any error of the texts
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
  // The new content must be on the disk before it replaces the file.
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
    // Errors of the database are already described; an error that names a system call concerns the file.
    throw error instanceof Error && 'syscall' in error ? explain(error) : error;
  } finally {
    process.off('exit', remove);
  }
}

/** The new file grants no user more rights than the file that it replaces. */
function replace(path: string, target: string, explain: (error: unknown) => CommandError): void {
  try {
    const former = lstatSync(path, { throwIfNoEntry: false });
    if (former !== undefined) chmodSync(target, lstatSync(target).mode & former.mode & 0o777);
    renameSync(target, path);
  } catch (error) {
    throw explain(error);
  }
}

/** Describes what {@link replaceFile} leaves if it does not finish. */
export function describeUnfinished(path: string): string {
  if (!isPlainOrAbsent(path)) return `${path} is incomplete.`;
  return `${path} was not ${existsSync(path) ? 'changed' : 'written'}.`;
}

function isPlainOrAbsent(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CommandError(`${path} cannot be written: it is a folder`);
  return stats === undefined || stats.isFile();
}
