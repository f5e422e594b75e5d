import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';

const MEBIBYTE = 2 ** 20;

/** What a server with long lists, connections and remembered keys was seen to take, with room for a burst. */
const NEEDED_MIB = 256;

/**
 * Logs what a memory limit of the system, such as that of a container, will do to this process: the kernel kills a process
 * that reaches it without a word in any log.
 *
 * @param limitBytes the limit of the control group. @default what Node reads of it; 0 if there is none
 * @param heapLimitBytes how large the heap may become
 */
export function warnOfMemoryLimit(
  logger: Pick<Logger, 'warn'>,
  limitBytes: number = process.constrainedMemory(),
  heapLimitBytes: number = getHeapStatistics().heap_size_limit,
): void {
  // Without a control group Node gives the largest number of the system.
  if (limitBytes === 0 || limitBytes > Number.MAX_SAFE_INTEGER) return;
  const [memoryLimitMiB, heapLimitMiB] = [limitBytes, heapLimitBytes].map((bytes) => Math.floor(bytes / MEBIBYTE));
  if (limitBytes < NEEDED_MIB * MEBIBYTE) {
    logger.warn(
      { memoryLimitMiB },
      `little memory is allowed: the system ends this process at ${memoryLimitMiB} MiB; ` +
        `allow ${NEEDED_MIB} MiB or more (memory limit of the container, MemoryMax)`,
    );
  }
  if (heapLimitBytes > limitBytes) {
    logger.warn(
      { memoryLimitMiB, heapLimitMiB },
      `the heap may become larger (${heapLimitMiB} MiB) than the system allows this process (${memoryLimitMiB} MiB): ` +
        'leave out --max-old-space-size, or make it smaller than the limit',
    );
  }
}
