import { ConnectionError, PetstoreError, TimeoutError } from '../errors.ts';
import { type ClientClock, untilAborted } from './clock.ts';

/** Bounds one attempt in time, and ends it when the caller aborts. */
export class Deadline {
  readonly #clock: ClientClock;
  readonly #timeoutMs: number;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #abort = new AbortController();
  #cancelTimer: (() => void) | undefined;
  /** Of the response, once its head has arrived. */
  #response: { readonly requestId: string | undefined } | undefined;

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

  /** The head of the response has arrived: what fails from now on is its body. */
  begin(requestId: string | undefined): void {
    this.#response = { requestId };
  }

  /** Starts the time anew. */
  restart(): void {
    this.pause();
    this.#cancelTimer = this.#clock.schedule(() => {
      const message =
        this.#response === undefined
          ? `The service did not respond within ${this.#timeoutMs} ms.`
          : `The response broke off: nothing came for ${this.#timeoutMs} ms. What was read is not the whole.`;
      this.#abort.abort(new TimeoutError(message, { code: 'timed_out', requestId: this.#response?.requestId }));
    }, this.#timeoutMs);
  }

  /** Stops the time while the caller is busy. */
  pause(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /**
   * What is being read, unless the attempt is aborted first. Reading alone need not end then: Node 20 and 22 leave it
   * pending for ever if the last chunk has just arrived.
   */
  bound<Value>(reading: Promise<Value>): Promise<Value> {
    return untilAborted(this.signal, reading);
  }

  /** Releases timer and signal. */
  end(): void {
    this.pause();
    this.#callerSignal?.removeEventListener('abort', this.#onAbort);
  }

  /** The error to throw for one of `fetch`: why it was aborted, else that the connection failed. */
  explain(error: unknown): unknown {
    if (this.#callerSignal?.aborted) return this.#callerSignal.reason;
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    if (error instanceof PetstoreError) return error;
    return this.#response === undefined
      ? new ConnectionError('The service could not be reached.', { code: 'connection_failed', cause: error })
      : brokenOffError(this.#response.requestId, error);
  }

  readonly #onAbort = () => {
    this.end();
    this.#abort.abort(this.#callerSignal?.reason);
  };
}

/** The error of a response that ends before it is whole. */
export function brokenOffError(requestId: string | undefined, cause?: unknown): ConnectionError {
  const message = 'The response broke off: what was read is not the whole.';
  return new ConnectionError(message, { code: 'connection_failed', requestId, cause });
}
