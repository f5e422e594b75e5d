import { ConnectionError, PetstoreError, TimeoutError } from '../errors.ts';
import type { ClientClock } from './clock.ts';

/** Bounds one attempt in time, and ends it when the caller aborts. */
export class Deadline {
  readonly #clock: ClientClock;
  readonly #timeoutMs: number;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #abort = new AbortController();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: ClientClock, timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#callerSignal = callerSignal;
    if (callerSignal?.aborted) this.#onAbort();
    else callerSignal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborts with the caller's reason, or with a {@link TimeoutError}. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Gives the whole time, from now on. */
  restart(): void {
    this.pause();
    this.#cancelTimer = this.#clock.schedule(() => {
      const message = `The service did not answer within ${this.#timeoutMs} ms.`;
      this.#abort.abort(new TimeoutError(message, { code: 'timed_out' }));
    }, this.#timeoutMs);
  }

  /** Stops the time: it is the caller's turn. */
  pause(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /**
   * What is being read, unless the attempt is aborted before. Of itself reading need not end then: Node 20 and 22 leave it
   * waiting for ever if the last piece has just come.
   */
  bound<Value>(reading: Promise<Value>): Promise<Value> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      void reading.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  /** Lets go of timer and signal. */
  end(): void {
    this.pause();
    this.#callerSignal?.removeEventListener('abort', this.#onAbort);
  }

  /** What to throw for what `fetch` threw: why it was aborted, else that the connection failed. */
  explain(error: unknown): unknown {
    if (this.#callerSignal?.aborted) return this.#callerSignal.reason;
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    if (error instanceof PetstoreError) return error;
    const message = 'The service could not be reached, or its answer broke off.';
    return new ConnectionError(message, { code: 'connection_failed', cause: error });
  }

  readonly #onAbort = () => this.#abort.abort(this.#callerSignal?.reason);
}
