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

/**
 * @param signal closes the file, even while data is awaited
 * @throws CommandError if the file cannot be read
 */
export async function* readInputFile(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    const isPipe = findStats(path)?.isFIFO();
    yield* isPipe ? openPipe(path, signal) : createReadStream(path, { highWaterMark: CHUNK_BYTES, signal });
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${describeFileError(error)}`, { cause: error });
  }
}

/** For a pipe such as `<(zcat orders.gz)`. If it were read as a file, the process could not end before data arrives. */
function openPipe(path: string, signal: AbortSignal): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false, signal });
}

function findStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // reading reports the error
  }
}
