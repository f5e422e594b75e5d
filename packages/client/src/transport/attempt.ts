import { ConnectionError, TimeoutError } from '../errors.ts';
import { type Clock, untilAborted } from './clock.ts';

/** A response whose head has arrived. */
interface Begun {
  readonly requestId: string | undefined;
}

/** The waits of one attempt: each has a timeout, and all end when the caller aborts. Call `end` when it is done. */
export class Attempt {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #abort = new AbortController();
  /** For `fetch`. */
  readonly signal = this.#abort.signal;

  /** @param timeoutMs the timeout of each wait */
  constructor(clock: Clock, timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#callerSignal = callerSignal;
    if (callerSignal?.aborted) this.#onAbort();
    else callerSignal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * Waits for data from the service.
   *
   * @param receive begins to receive
   * @param response the response whose body is awaited. @default none: the head is awaited
   * @throws ConnectionError if the data does not arrive, with the error of `receive` as its cause; the caller's reason
   */
  async wait<Value>(receive: () => Promise<Value>, response?: Begun): Promise<Value> {
    const cancelTimer = this.#clock.schedule(() => {
      const message = `${response ? BROKEN_OFF : 'The service did not respond'}: nothing came for ${this.#timeoutMs} ms.`;
      this.#abort.abort(new TimeoutError(message, { code: 'timed_out', requestId: response?.requestId }));
    }, this.#timeoutMs);
    try {
      // Reading itself may not end: Node 20 and 22 leave it pending for ever if the last chunk has just arrived.
      return await untilAborted(this.signal, receive());
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason;
      throw connectionError(response, error);
    } finally {
      cancelTimer();
    }
  }

  /** Stops listening to the caller's signal. */
  end(): void {
    this.#callerSignal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = () => this.#abort.abort(this.#callerSignal?.reason);
}

const BROKEN_OFF = 'The response broke off';

/** @param response the response that ended too early; `undefined` if there is none */
export function connectionError(response: Begun | undefined, cause?: unknown): ConnectionError {
  const message = response ? `${BROKEN_OFF}: what was read is not the whole.` : 'The service could not be reached.';
  return new ConnectionError(message, { code: 'connection_failed', requestId: response?.requestId, cause });
}
