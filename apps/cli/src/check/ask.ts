/** A promise is broken. The message says what was seen instead. */
export class CheckFailedError extends Error {
  override readonly name = 'CheckFailedError';
}

/** There is no answer at all. */
export class NoAnswerError extends CheckFailedError {}

/** Nothing shows whether a promise is kept. The message says why. */
export class InconclusiveError extends Error {
  override readonly name = 'InconclusiveError';
}

/** What a request has besides its method and path. */
export interface RequestOptions {
  /** @default none */
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly headers: Headers;
  readonly text: string;
  /** The status and, for an error of the service over REST or tRPC, its code: `401 missing_api_key`. */
  readonly outcome: string;
}

const TIMEOUT_MS = 30_000;

/**
 * Sends a request that changes nothing, and follows no redirect.
 *
 * @param request method and path: `GET /docs`
 * @param timeoutMs until the whole answer is there
 * @throws NoAnswerError
 */
export async function send(
  url: string,
  request: string,
  options: RequestOptions,
  timeoutMs = TIMEOUT_MS,
): Promise<Response> {
  const [method = '', path] = request.split(' ');
  const { key, headers, body } = options;
  try {
    return await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw new NoAnswerError(`no answer: ${describeFailure(error)}`, { cause: error });
  }
}

/** Sends a request, and reads the answer. @throws CheckFailedError if there is no whole answer */
export const ask = async (url: string, request: string, options: RequestOptions = {}): Promise<Answer> =>
  readAnswer(await send(url, request, options));

/** @throws CheckFailedError if the answer is not whole */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text().catch((error: unknown) => {
    throw new CheckFailedError(`the answer broke off: ${describeFailure(error)}`, { cause: error });
  });
  return { headers: response.headers, text, outcome: [response.status, errorCodeIn(text)].filter(Boolean).join(' ') };
}

/** The reason why `fetch` failed is in its cause. */
export function describeFailure(error: unknown): string {
  const { cause = error } = error as { readonly cause?: unknown }; // any object may have one
  return cause instanceof Error ? cause.message || String('code' in cause ? cause.code : cause.name) : String(cause);
}

/** The code of an Error object of REST, or of an error of tRPC; `undefined` if the text is neither. */
function errorCodeIn(text: string): string | undefined {
  try {
    const { code, error } = JSON.parse(text);
    return error?.json.data.errorCode ?? code;
  } catch {
    return undefined;
  }
}

const SHOWN_MAX_LENGTH = 60;

/** An answer in a few words. */
export function describe({ outcome, headers, text }: Answer): string {
  if (outcome.includes(' ')) return outcome;
  const location = headers.get('location');
  if (location !== null) return `${outcome}, which leads to ${location}`;
  const begin = text.slice(0, SHOWN_MAX_LENGTH).replace(/\s+/g, ' ').trim();
  return begin === '' ? outcome : `${outcome} (${headers.get('content-type')}): ${begin}`;
}
