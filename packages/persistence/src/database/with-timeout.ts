/** Time is counted in steps of so many milliseconds. */
const STEP_MS = 100;

/**
 * Waits for work, but not longer than a time. The work itself goes on.
 *
 * The time is counted in steps, and one that ends late counts no more than the others: while this process stands still (a
 * suspended machine, a frozen container, other work on a busy one) no time passes. So that is never taken for silence of
 * the server, however many round trips the work still needs.
 *
 * @param timeoutMs in milliseconds, a multiple of 100
 * @param late what the returned promise is rejected with
 */
export function withTimeout<Value>(work: Promise<Value>, timeoutMs: number, late: Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    let leftMs = timeoutMs;
    const timer = setInterval(() => {
      leftMs -= STEP_MS;
      if (leftMs > 0) return;
      clearInterval(timer);
      // After a pause timers run first, then sockets are read, then immediates run.
      setImmediate(reject, late);
    }, STEP_MS);
    work.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
