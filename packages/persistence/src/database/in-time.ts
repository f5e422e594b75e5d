import { TOO_LATE } from './errors.ts';
import type { Caller } from './pool.ts';
import { TIMEOUTS_MS, withDeadline } from './timeouts.ts';

/** Runs work that may take several statements. After its time, its caller no longer waits, and it sends none. */
export async function inTime<Value>(work: (caller: Caller) => Promise<Value>): Promise<Value> {
  const caller = { isWaiting: true };
  try {
    return await withDeadline(work(caller), TIMEOUTS_MS.severalStatements, TOO_LATE);
  } finally {
    caller.isWaiting = false;
  }
}
