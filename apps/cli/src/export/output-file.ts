import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { CommandFailure } from '../failure.ts';
import { describeFileError } from '../file-errors.ts';

/**
 * Writes a file as a stream. What was there before is replaced in one step at the end, so that an export that fails
 * leaves no half of a file behind. A device or a pipe is written to as it is.
 *
 * @param runId of the file `PATH.<runId>.partial`, which is written until then. Another export at the same time has its
 *   own, and what is there under that name, a link above all, is never written to. @default a random one
 * @throws CommandFailure where the file cannot be written
 */
export async function writeFile<Value>(
  path: string,
  produce: (write: (text: string) => Promise<void>) => Promise<Value>,
  runId: string = randomUUID(),
): Promise<Value> {
  const isReplaced = isPlainOrAbsent(path);
  const target = isReplaced ? `${path}.${runId}.partial` : path;
  const stream = createWriteStream(target, { flags: isReplaced ? 'wx' : 'w' });
  let failure: unknown;
  stream.on('error', (error) => {
    failure = error;
  });
  const explain = (error: unknown) =>
    new CommandFailure(`${path} cannot be written: ${describeFileError(error)}`, { cause: error });
  try {
    const value = await produce(async (text) => {
      if (failure === undefined && !stream.write(text)) await once(stream, 'drain').catch(() => {});
      if (failure !== undefined) throw explain(failure);
    });
    stream.end();
    await finished(stream).catch((error: unknown) => {
      throw explain(error);
    });
    if (isReplaced) renameSync(target, path);
    return value;
  } catch (error) {
    stream.destroy();
    if (isReplaced && failure === undefined) rmSync(target, { force: true });
    throw error;
  }
}

/** A link is not replaced either: its target is written to. */
function isPlainOrAbsent(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CommandFailure(`${path} cannot be written: it is a folder`);
  return stats === undefined || stats.isFile();
}
