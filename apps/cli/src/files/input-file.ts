import { constants, createReadStream, openSync, type Stats, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

const CHUNK_BYTES = 1 << 18;

/** @returns the number of bytes; `undefined` if it is unknown, as for a pipe */
export function sizeOf(path: string): number | undefined {
  const stats = findStats(path);
  return stats?.isFile() ? stats.size : undefined;
}

/** @throws CommandError if the file cannot be read */
export async function* readInputFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* findStats(path)?.isFIFO() ? openPipe(path) : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
}

/** For a pipe such as `<(zcat orders.gz)`. If it were read as a file, the process could not end before data arrives. */
const openPipe = (path: string): Socket =>
  new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });

function findStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // reading reports the error
  }
}
