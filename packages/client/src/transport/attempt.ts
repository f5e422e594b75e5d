import { ConnectionError, TimeoutError } from '../errors.ts';
import { type ClientClock, untilAborted } from './clock.ts';

/** The response that is waited for, once its head has arrived. */
interface Begun {
  readonly requestId: string | undefined;
}

/** The waits of one attempt: each is bounded in time, and all end when the caller aborts. Has to be ended. */
export class Attempt {
  readonly #clock: ClientClock;
  readonly #timeoutMs: number;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #abort = new AbortController();

  /** @param timeoutMs how long each wait may take */
  constructor(clock: ClientClock, timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#callerSignal = callerSignal;
    if (callerSignal?.aborted) this.#onAbort();
    else callerSignal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** For `fetch`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Waits for what comes from the service.
   *
   * @param response whose body it is. @default none: its head is waited for
   * @throws ConnectionError if it does not come; the caller's reason; what the program did wrong, as it is
   */
  async wait<Value>(coming: Promise<Value>, response?: Begun): Promise<Value> {
    const cancelTimer = this.#clock.schedule(() => {
      const message = `${response ? BROKEN_OFF : 'The service did not respond'}: nothing came for ${this.#timeoutMs} ms.`;
      this.#abort.abort(new TimeoutError(message, { code: 'timed_out', requestId: response?.requestId }));
    }, this.#timeoutMs);
    try {
      // Reading alone need not end: Node 20 and 22 leave it pending for ever if the last chunk has just arrived.
      return await untilAborted(this.signal, coming);
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason;
      throw isMistake(error) ? error : connectionError(response, error);
    } finally {
      cancelTimer();
    }
  }

  /** Lets go of the caller's signal. */
  end(): void {
    this.#callerSignal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = () => this.#abort.abort(this.#callerSignal?.reason);
}

const BROKEN_OFF = 'The response broke off';

/** @param response the one that ended before it was whole; `undefined` if there is none */
export function connectionError(response: Begun | undefined, cause?: unknown): ConnectionError {
  const message = response ? `${BROKEN_OFF}: what was read is not the whole.` : 'The service could not be reached.';
  return new ConnectionError(message, { code: 'connection_failed', requestId: response?.requestId, cause });
}

/**
 * What engines say of a program that does what it must not. A lost connection is a TypeError too, and what Safari says of it
 * is translated: so it is the mistakes that are recognized.
 */
const MISTAKES =
  /^Cannot |can't |(Failed|Attempted) to (?!fetch)|[Ii]llegal|BigInt|circular|cyclic|to const|(is|of) '?(undefined|null)|is not (a|an|defined|iterable)\b|does not implement|Invalid (URL|state|value)|is an invalid|incompatible receiver|without 'new'|requires|empty array|cannot have body|is required/;

/** Codes by which Node and those who follow it name a mistake. */
const MISTAKE_CODES = /^ERR_(INVALID|MISSING|ASSERTION)/;

/** Whether it was the program, such as a `fetch` that was given as an option, that failed, and not the connection. */
function isMistake(error: unknown): boolean {
  if (error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError) return true;
  if (!(error instanceof Error)) return false;
  if ('code' in error && MISTAKE_CODES.test(String(error.code))) return true;
  return error instanceof TypeError ? MISTAKES.test(error.message) : error.name === 'DataCloneError';
}
