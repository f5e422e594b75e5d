import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
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
  let isOurs = false;
  stream.once('open', () => {
    isOurs = isReplaced;
  });
  const removePartial = () => {
    if (isOurs) rmSync(target, { force: true });
  };
  process.once('exit', removePartial); // a signal ends the process
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
    removePartial();
    throw error;
  } finally {
    process.off('exit', removePartial);
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
