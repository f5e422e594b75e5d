/** Time as a client sees it. Tests give one of their own. */
export interface ClientClock {
  /** Milliseconds since the epoch. Must never go back: waits are measured by it. */
  now(): number;
  /**
   * Calls once, when at least `delayMs` have passed.
   *
   * @returns cancels; does nothing once it was called
   */
  schedule(callback: () => void, delayMs: number): () => void;
}

/** The longest that timers take, about 24.8 days; more would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;

/** The real time. Monotonic, so that a corrected wall clock shortens no wait. */
export const systemClock: ClientClock = {
  now: () => performance.timeOrigin + performance.now(),
  schedule(callback, delayMs) {
    const dueMs = this.now() + delayMs;
    let timer: ReturnType<typeof setTimeout>;
    // Timers go by a coarser clock than this one, and may be early.
    const wait = () => {
      const restMs = dueMs - this.now();
      if (restMs <= 0) callback();
      else timer = setTimeout(wait, Math.min(Math.ceil(restMs), TIMER_MAX_MS));
    };
    timer = setTimeout(wait, Math.min(Math.ceil(delayMs), TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after a time. Rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: ClientClock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const cancel = clock.schedule(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    function onAbort() {
      cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
