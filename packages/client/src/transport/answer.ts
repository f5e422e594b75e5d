import { createAnswerError, PetstoreError } from '../errors.ts';
import type { Deadline } from './deadline.ts';

/** An answer of which the head has come. Has to be read to its end, or closed. */
export class Answer {
  readonly status: number;
  /** Whether the status is one of success. */
  readonly ok: boolean;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #retryAfterSeconds: number | undefined;
  readonly #deadline: Deadline;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Response, retryAfterSeconds: number | undefined, deadline: Deadline) {
    this.status = response.status;
    this.ok = response.ok;
    this.headers = response.headers;
    this.#response = response;
    this.#retryAfterSeconds = retryAfterSeconds;
    this.#deadline = deadline;
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
   * The next piece of the body, which has the whole time of an attempt to come; `undefined` at the end.
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

  /** Ends the answer: nobody reads on. */
  close(): void {
    this.#deadline.end();
    // What fails after the end concerns nobody.
    (this.#reader ?? this.#response.body)?.cancel().catch(() => {});
  }

  /** The error that an answer without success tells of. */
  async readError(): Promise<PetstoreError> {
    let body: unknown;
    try {
      body = JSON.parse(await this.readText());
    } catch (error) {
      // The status tells enough.
      if (!(error instanceof SyntaxError || error instanceof PetstoreError)) throw error;
    }
    return isErrorBody(body) ? this.createError(body.message, body.code) : this.createError();
  }

  /** The error of an answer, where the body tells of none. */
  createError(
    message = `The answer, with status ${this.status}, is not one of the service's.`,
    code = 'unexpected_response',
    cause?: unknown,
  ): PetstoreError {
    return createAnswerError(message, {
      code,
      status: this.status,
      requestId: this.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: this.#retryAfterSeconds,
      cause,
    });
  }
}

/** The Error object of the service, as far as it is needed. */
const isErrorBody = (body: unknown): body is { readonly code: string; readonly message: string } =>
  typeof body === 'object' &&
  body !== null &&
  'code' in body &&
  typeof body.code === 'string' &&
  'message' in body &&
  typeof body.message === 'string';
