import { setTimeout as sleep } from 'node:timers/promises';
import { breaks, NotKeptError } from './findings.ts';

/** What a request has besides its method and path. */
export interface Sent {
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
/** A window of a minute is free again by then. A check does not wait for longer windows, or for the end of a ban. */
const WAIT_MAX_SECONDS = 65;
const SHOWN_MAX_LENGTH = 60;
/** Proxies may keep these for everybody. */
const DOCUMENTS = / \/(?:docs|v\d+\/openapi\.)/;

/** An address at which the service is expected. */
export class Installation {
  /** Without `/v1` and without a slash at its end. */
  readonly url: string;
  readonly #onWait: (seconds: number) => void;
  readonly #requestIds = new Set<string>();

  constructor(url: string, onWait: (seconds: number) => void) {
    this.url = url;
    this.#onWait = onWait;
  }

  /**
   * Sends a request. If a limit asks to wait, sends it once more.
   *
   * @param request method and path of a request that changes nothing: `GET /docs`
   * @throws NotKeptError if there is no answer, or it is the answer to an earlier request
   */
  async ask(request: string, sent: Sent = {}): Promise<Answer> {
    let response = await this.#send(request, sent);
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    if (response.status === 429 && seconds <= WAIT_MAX_SECONDS) {
      this.#onWait(seconds);
      await sleep(seconds * 1_000);
      response = await this.#send(request, sent);
    }
    const text = await response.text().catch((error: unknown) => {
      throw new NotKeptError(`the answer broke off: ${describeFailure(error)}`, { cause: error });
    });
    const id = response.headers.get('x-request-id');
    if (id !== null && !DOCUMENTS.test(request)) {
      if (this.#requestIds.has(id)) throw breaks(`an X-Request-Id that an earlier answer had`, 'cache');
      this.#requestIds.add(id);
    }
    const code = errorCodeIn(text, response.status);
    return { headers: response.headers, text, outcome: [response.status, code].filter(Boolean).join(' ') };
  }

  async #send(request: string, { key, headers, body }: Sent): Promise<Response> {
    const [method = '', path = ''] = request.split(' ');
    try {
      return await fetch(this.url + path, {
        method,
        headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      throw new NotKeptError(`no answer: ${describeFailure(error)}`, { cause: error });
    }
  }
}

/** The reason why `fetch` failed is in its cause. */
export function describeFailure(error: unknown): string {
  const { cause = error } = error as { readonly cause?: unknown }; // any object may have one
  return cause instanceof Error ? cause.message || String('code' in cause ? cause.code : cause.name) : String(cause);
}

/** The code of an Error object of REST, or of an error of tRPC; `undefined` if the text is neither. */
function errorCodeIn(text: string, status: number): string | undefined {
  try {
    const body = JSON.parse(text);
    const { httpStatus, errorCode } = body.error?.json.data ?? {};
    if (httpStatus === status) return errorCode;
    const isErrorObject = Object.keys(body).sort().join() === 'code,message,status' && body.status === status;
    return isErrorObject ? body.code : undefined;
  } catch {
    return undefined;
  }
}

/** An answer in a few words. */
export function describe({ outcome, headers, text }: Answer): string {
  if (outcome.includes(' ')) return outcome;
  const location = headers.get('location');
  if (location !== null) return `${outcome}, which leads to ${location}`;
  const begin = text.slice(0, SHOWN_MAX_LENGTH).replace(/\s+/g, ' ').trim();
  return begin === '' ? outcome : `${outcome} (${headers.get('content-type')}): ${begin}`;
}
