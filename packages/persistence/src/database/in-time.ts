import { TOO_LATE } from './errors.ts';
import type { Caller } from './pool.ts';
import { withDeadline } from './timeouts.ts';

/**
 * Runs work whose caller gives up after a time. No statement and no unit of work begins for a caller who no longer waits,
 * and no unit of work is committed.
 *
 * @param outer whoever waits for more than this work
 * @throws StorageUnavailableError after the time
 */
export async function inTime<Value>(
  work: (caller: Caller) => Promise<Value>,
  timeoutMs: number,
  outer?: Caller,
): Promise<Value> {
  let isOver = false;
  const caller: Caller = {
    get isWaiting() {
      return !isOver && outer?.isWaiting !== false;
    },
  };
  try {
    return await withDeadline(work(caller), timeoutMs, TOO_LATE);
  } finally {
    isOver = true;
  }
}
