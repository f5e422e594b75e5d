import { TOO_LATE } from './errors.ts';

/** Somebody who waits for one statement or several, and may give up. */
export interface Caller {
  readonly isWaiting: boolean;
}

/**
 * Runs work whose caller gives up after a time. No statement and no unit of work begins for a caller who no longer waits,
 * and no unit of work is committed.
 *
 * @throws StorageUnavailableError after the time
 */
export async function inTime<Value>(work: (caller: Caller) => Promise<Value>, timeoutMs: number): Promise<Value> {
  const caller = { isWaiting: true };
  try {
    return await withDeadline(work(caller), timeoutMs, TOO_LATE);
  } finally {
    caller.isWaiting = false;
  }
}

/** Waits for work, but no longer than a timeout. The work itself continues. @param late the error of the rejection */
export const withDeadline = <Value>(work: Promise<Value>, timeoutMs: number, late: Error): Promise<Value> =>
  new Promise((resolve, reject) => {
    // After a pause of this process, timers run first, then sockets are read, then immediates run: a response that is there is used.
    const timer = setTimeout(() => setImmediate(reject, late), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
