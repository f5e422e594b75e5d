import { type ConnectionError, PetstoreError } from '../errors.ts';
import { createResponseError } from '../response-error.ts';
import { brokenOffError, type Deadline } from './deadline.ts';

/** A response whose head has arrived. Has to be read to its end, or closed. */
export class ServiceResponse {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly headers: Headers;
  /** How long the service asks to wait, in whole seconds; `undefined` where it does not. */
  readonly retryAfterSeconds: number | undefined;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | undefined;
  readonly #response: Response;
  readonly #deadline: Deadline;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** @param nowMs the client's time, see {@link readRetryAfterSeconds} */
  constructor(response: Response, deadline: Deadline, nowMs: number) {
    this.status = response.status;
    this.ok = response.ok;
    this.headers = response.headers;
    this.retryAfterSeconds = readRetryAfterSeconds(response.headers, nowMs);
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    this.#response = response;
    this.#deadline = deadline;
    deadline.begin(this.requestId);
  }

  /**
   * The whole body, within what is left of the attempt's time.
   *
   * @throws ConnectionError where it breaks off
   */
  async readText(): Promise<string> {
    try {
      return await this.#deadline.bound(this.#response.text());
    } catch (error) {
      throw this.#deadline.explain(error);
    } finally {
      this.#deadline.end();
    }
  }

  /**
   * The next chunk of the body, which may take the whole time of an attempt; `undefined` at the end.
   *
   * @throws ConnectionError where it breaks off
   */
  async readChunk(): Promise<Uint8Array | undefined> {
    this.#reader ??= this.#response.body?.getReader();
    this.#deadline.restart();
    try {
      const { done = true, value } = (this.#reader && (await this.#deadline.bound(this.#reader.read()))) ?? {};
      if (done) this.#deadline.end();
      else this.#deadline.pause();
      return value;
    } catch (error) {
      this.#deadline.end();
      throw this.#deadline.explain(error);
    }
  }

  /** Discards the rest of the body. */
  close(): void {
    this.#deadline.end();
    // The caller is done with it: a failure now matters to no one.
    (this.#reader ?? this.#response.body)?.cancel().catch(() => {});
  }

  /** The error of a body that ends too early although nothing else is wrong with it. */
  createBrokenOffError(cause?: unknown): ConnectionError {
    return brokenOffError(this.requestId, cause);
  }

  /** The error that a response without success describes. */
  async readError(): Promise<PetstoreError> {
    let body: unknown;
    try {
      body = JSON.parse(await this.readText());
    } catch (error) {
      // The status says enough.
      if (!(error instanceof SyntaxError || error instanceof PetstoreError)) throw error;
    }
    return isErrorBody(body) ? this.createError(body.message, body.code) : this.createError();
  }

  /** The error of a response whose body describes none. */
  createError(
    message = `The response, with status ${this.status}, did not come from the service.`,
    code = 'unexpected_response',
    cause?: unknown,
  ): PetstoreError {
    const { status, retryAfterSeconds, requestId } = this;
    return createResponseError(message, { code, status, requestId, retryAfterSeconds, cause });
  }
}

/** The service's Error object, as far as it is needed. */
const isErrorBody = (body: unknown): body is { readonly code: string; readonly message: string } =>
  typeof body === 'object' &&
  body !== null &&
  'code' in body &&
  typeof body.code === 'string' &&
  'message' in body &&
  typeof body.message === 'string';

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds, or the date to wait for. A date is compared with the
 * response's own `Date`, so that a client whose clock is wrong waits as long as was meant.
 *
 * @param nowMs the client's time, for a response without a `Date`
 * @returns whole seconds, rounded up; `undefined` where the header is missing or neither
 */
export function readRetryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  // Every form of an HTTP date begins with the name of a day; `Date.parse` also accepts much that is no HTTP date.
  const untilMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const sentMs = Date.parse(headers.get('date') ?? '');
  return Math.max(0, Math.ceil((untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1000));
}
