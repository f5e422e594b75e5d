/** The time of a client. */
export interface Clock {
  /** Milliseconds since the epoch. It must never go back, because it measures waits. */
  now(): number;
  /**
   * Calls `callback` once, after at least `delayMs`, or after 24.8 days if that is longer.
   *
   * @returns a function that cancels the call, if it has not been made
   */
  schedule(callback: () => void, delayMs: number): () => void;
}

/** The longest delay that timers support, about 24.8 days: longer ones would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;

/** The real time. It is monotonic: a correction of the wall clock shortens no wait. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  schedule(callback, delayMs) {
    // Timers use a coarser clock than this one, and may fire up to a millisecond early.
    const timer = setTimeout(callback, Math.min(Math.ceil(delayMs) + 1, TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
};

/** Settles as the promise does, or rejects with the signal's reason as soon as it aborts. Leaves no listener. */
export function untilAborted<Value>(signal: AbortSignal | undefined, promise: Promise<Value>): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Waits. @throws the signal's reason if it aborts */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.schedule(resolve, delayMs);
  });
  await untilAborted(signal, over).finally(cancel);
}

/** Begins a wait for several callers, each with its signal. It ends early if all who joined it have been aborted. */
export function createSharedPause(clock: Clock, delayMs: number): (signal: AbortSignal | undefined) => Promise<void> {
  const ending = new AbortController();
  const over = pause(clock, delayMs, ending.signal);
  let joined = 0;
  return async (signal) => {
    joined++;
    await untilAborted(signal, over).finally(() => {
      if (--joined === 0) ending.abort();
    });
  };
}
