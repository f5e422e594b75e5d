import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

const REASONS = { EEXIST: 'its unfinished file is there already' };

/**
 * Writes a file as a stream, and replaces what was there in one step at the end: a failed export leaves no partial file.
 * A link, a device or a pipe is written to directly.
 *
 * @param runId names the file that is written first, `PATH.<runId>.partial`. It is unique to this export, and never
 *   written to where it exists, as a planted link would. @default a random one
 * @throws CommandError where the file cannot be written
 */
export async function replaceFile<Value>(
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
    new CommandError(`${path} cannot be written: ${describeFileError(error, REASONS)}`, { cause: error });
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

function isPlainOrAbsent(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CommandError(`${path} cannot be written: it is a folder`);
  return stats === undefined || stats.isFile();
}
