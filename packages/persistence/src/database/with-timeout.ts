/** The length of a step, in milliseconds. */
const STEP_MS = 100;

/**
 * Waits for work, but no longer than a timeout. The work itself continues.
 *
 * The time is counted in steps, and a step that ends late counts no more than the others: no time passes while this process
 * does not run (on a suspended or busy machine, or in a frozen container). Such a pause is never taken for silence of the
 * server, however many round trips the work still needs.
 *
 * @param timeoutMs a multiple of 100, in milliseconds
 * @param late the error with which the promise is rejected
 */
export function withTimeout<Value>(work: Promise<Value>, timeoutMs: number, late: Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    let leftMs = timeoutMs;
    const timer = setInterval(() => {
      leftMs -= STEP_MS;
      if (leftMs > 0) return;
      clearInterval(timer);
      // After a pause, timers run first, then sockets are read, then immediates run.
      setImmediate(reject, late);
    }, STEP_MS);
    work.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
