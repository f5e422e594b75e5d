import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** The pause for the thread that releases buffers, which is late on a busy machine, in milliseconds. */
const PAUSE_MS = 5;
const READINGS_MAX = 40;
const NOISE_BYTES = 100_000;

/** The memory that this process still refers to, in bytes: measured again until it no longer falls. */
export async function readMemoryInUse(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < READINGS_MAX; reading++) {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const inUse = heapUsed + arrayBuffers;
    if (inUse > least - NOISE_BYTES) return Math.min(inUse, least);
    least = inUse;
    await sleep(PAUSE_MS);
  }
  return least;
}
