/**
 * Waits for work, but not longer than a time. The work itself goes on.
 *
 * Data that arrived while this process stood still is read before the time counts as over, so a pause of the process (a
 * suspended machine, a frozen container) is never taken for silence of the server.
 *
 * @param timeoutMs in milliseconds
 * @param late what the returned promise is rejected with
 */
export function withTimeout<Value>(work: Promise<Value>, timeoutMs: number, late: Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    // After a pause timers run first, then sockets are read, then immediates run.
    const timer = setTimeout(() => setImmediate(reject, late), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
