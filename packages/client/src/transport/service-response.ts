import { type PetstoreError, responseError } from '../errors.ts';
import type { Attempt } from './attempt.ts';

const NO_WEB_STREAM =
  'fetch must resolve to a Response whose body is a web ReadableStream, or null if there is none: the global fetch and that of undici do, node-fetch does not';

/** A response whose head has arrived. Its body must be read to the end, or closed. */
export class ServiceResponse {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly headers: Headers;
  /** The wait that the service asks for, in whole seconds; `undefined` if it asks for none. */
  readonly retryAfterSeconds: number | undefined;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | undefined;
  /** The pieces of the body after it was read. */
  readonly texts: string[] = [];
  /** The origin to which the request was redirected; `undefined` if it was not. */
  readonly #redirectedTo: string | undefined;
  readonly #body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #attempt: Pick<Attempt, 'wait' | 'end'>;

  /**
   * @param nowMs the client's time, see {@link readRetryAfterSeconds}
   * @throws TypeError if the body is no web stream: the other responses of that `fetch` would fail as well
   */
  constructor(response: Response, attempt: Pick<Attempt, 'wait' | 'end'>, nowMs: number) {
    // Other implementations of `fetch` return a stream of Node, or no body at all.
    if (response?.body !== null && typeof response?.body?.getReader !== 'function') throw new TypeError(NO_WEB_STREAM);
    this.status = response.status;
    this.ok = response.ok;
    this.headers = response.headers;
    this.retryAfterSeconds = readRetryAfterSeconds(response.headers, nowMs);
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    this.#redirectedTo = response.redirected ? new URL(response.url).origin : undefined;
    this.#body = response.body?.getReader();
    this.#attempt = attempt;
  }

  /** The whole body, after it was read. */
  get text(): string {
    return this.texts.join('');
  }

  /** Whether a redirect took the key away: `fetch` sends no credentials to another origin, such as from http to https. */
  get hasLostKey(): boolean {
    return this.#redirectedTo !== undefined && this.status === 401 && this.text.includes('"missing_api_key"');
  }

  /** The next piece of the body; `undefined` at its end. @throws ConnectionError if it breaks off */
  async readChunk(): Promise<Uint8Array | undefined> {
    const body = this.#body;
    let chunk: Uint8Array | undefined;
    try {
      chunk = body && (await this.#attempt.wait(() => body.read(), this)).value;
    } finally {
      if (chunk === undefined) this.close();
    }
    return chunk;
  }

  /** The body as text, piece by piece, until its reader leaves. @throws ConnectionError if it breaks off */
  async *readTexts(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    try {
      for (let chunk = await this.readChunk(); chunk !== undefined; chunk = await this.readChunk()) {
        yield decoder.decode(chunk, { stream: true });
      }
    } finally {
      this.close();
    }
  }

  /** Discards the rest of the body. */
  close(): void {
    this.#attempt.end();
    // The caller is done with the response: a failure does not matter any more.
    this.#body?.cancel().catch(() => {});
  }

  /** The error that the body describes. The body must have been read. */
  toError(): PetstoreError {
    if (this.hasLostKey) {
      const message = `The request was redirected to ${this.#redirectedTo}, where it came without its key. Use that address as baseUrl.`;
      return this.createError(message, 'missing_api_key');
    }
    try {
      const { code, message } = JSON.parse(this.text);
      if (typeof code === 'string' && typeof message === 'string') return this.createError(message, code);
    } catch {
      // The status is enough.
    }
    return this.createError();
  }

  /** The error of a response whose body does not describe one. */
  createError(
    message = `The response, with status ${this.status}, did not come from the service.`,
    code = 'unexpected_response',
    cause?: unknown,
  ): PetstoreError {
    const { status, retryAfterSeconds, requestId } = this;
    return responseError(message, { code, status, requestId, retryAfterSeconds, cause });
  }
}

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds, or a date. A date is compared with the response's own
 * `Date`: a client whose clock is wrong still waits for the intended time.
 *
 * @param nowMs the client's time, for a response without a `Date`
 * @returns whole seconds, rounded up; `undefined` if the header is missing or invalid
 */
function readRetryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // Every form of an HTTP date begins with the name of a day; `Date.parse` also accepts many other texts.
  const untilMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const sentMs = Date.parse(headers.get('date') ?? '');
  return Math.max(0, Math.ceil((untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1000));
}
