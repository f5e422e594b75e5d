import type { ClientClock } from '../transport/clock.ts';

interface Pause {
  readonly callbacks: Set<() => void>;
  readonly cancel: () => void;
}

/**
 * Waits before calls are tried again. Calls that failed together wait together, so that they go as one request again: as
 * many refusals as there are calls would look like so many clients that do not listen.
 */
export class RetryPauses {
  readonly #clock: ClientClock;
  readonly #pauses = new WeakMap<object, Pause>();

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /**
   * @param failure the same object for calls that failed together
   * @param delayMs of the first of them counts
   * @returns leaves
   */
  pause(failure: object, delayMs: number, callback: () => void): () => void {
    const { callbacks, cancel } = this.#pauses.get(failure) ?? this.#begin(failure, delayMs);
    callbacks.add(callback);
    return () => {
      callbacks.delete(callback);
      if (callbacks.size > 0) return;
      cancel();
      this.#pauses.delete(failure);
    };
  }

  #begin(failure: object, delayMs: number): Pause {
    const callbacks = new Set<() => void>();
    const cancel = this.#clock.schedule(() => {
      this.#pauses.delete(failure);
      for (const callback of callbacks) callback();
    }, delayMs);
    const pause = { callbacks, cancel };
    this.#pauses.set(failure, pause);
    return pause;
  }
}
