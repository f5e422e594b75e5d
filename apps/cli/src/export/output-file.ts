import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
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
 * @throws CommandError where the file cannot be written
 */
export async function replaceFile<Value>(
  path: string,
  produce: (write: (chunk: string) => Promise<void>) => Promise<Value>,
  { runId = randomUUID() }: FileOptions = {},
): Promise<Value> {
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
    stream.destroy();
    if (isReplaced) rmSync(target, { force: true });
  };
  process.once('exit', remove);
  let failure: unknown;
  stream.on('error', (error) => {
    failure = error;
  });
  try {
    const value = await produce(async (chunk) => {
      if (failure === undefined && !stream.write(chunk)) await once(stream, 'drain').catch(() => {});
      if (failure !== undefined) throw explain(failure);
    });
    stream.end();
    await finished(stream).catch((error: unknown) => {
      throw explain(error);
    });
    if (isReplaced) replace(path, target, explain);
    return value;
  } catch (error) {
    remove();
    throw error;
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
