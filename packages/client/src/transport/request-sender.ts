import { Answer } from './answer.ts';
import type { ClientClock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { readRetryAfterSeconds } from './retry-after.ts';
import { singleSendOptions } from './single-send.ts';
import { type AnswerHead, Throttle } from './throttle.ts';

export interface RequestSenderOptions {
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: ClientClock;
  /** See {@link Throttle}. */
  readonly maxWaitMs: number;
  /** See {@link Throttle}. */
  readonly spaceRequests: boolean;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** How long the attempt may take, once its turn has come. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Whether the service does not count it, so that it need not wait for its turn. @default false */
  readonly isFree?: boolean | undefined;
  /** Of how many requests it takes the place: the calls of a batch. @default 1 */
  readonly cost?: number | undefined;
}

/** Sends requests under one key, each once: when its turn has come, and bounded in time. */
export class RequestSender {
  readonly #authorization: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #clock: ClientClock;
  readonly #throttle: Throttle;

  constructor({ apiKey, fetch, clock, maxWaitMs, spaceRequests }: RequestSenderOptions) {
    this.#authorization = `Bearer ${apiKey}`;
    this.#fetch = fetch;
    this.#clock = clock;
    this.#throttle = new Throttle({ clock, maxWaitMs, spaceRequests });
  }

  /**
   * @returns the answer, whatever its status; it has to be read or closed
   * @throws ConnectionError where there is none
   * @throws RateLimitError where the service has asked for a wait that is too long; nothing is sent
   * @throws the signal's reason, when it aborts
   */
  async send(request: HttpRequest): Promise<Answer> {
    const { method, url, headers, body, timeoutMs, signal, isFree = false, cost = 1 } = request;
    const turn = isFree ? this.#throttle.enterFree() : await this.#throttle.enter(cost, signal);
    const deadline = new Deadline(this.#clock, timeoutMs, signal);
    deadline.restart();
    let head: AnswerHead = { type: 'unknown', headers: undefined };
    try {
      const response = await this.#fetch(url, {
        method,
        headers: { ...headers, authorization: this.#authorization },
        body: body ?? null,
        signal: deadline.signal,
        ...(method !== 'GET' && singleSendOptions()),
      });
      const retryAfterSeconds = readRetryAfterSeconds(response.headers, this.#clock.now());
      head = headOf(response, retryAfterSeconds, cost);
      return new Answer(response, retryAfterSeconds, deadline);
    } catch (error) {
      deadline.end();
      throw deadline.explain(error);
    } finally {
      this.#throttle.leave(turn, head);
    }
  }
}

function headOf({ status, headers }: Response, retryAfterSeconds: number | undefined, cost: number): AnswerHead {
  // Too much at once, as too many long lists: that counts towards no ban, and concerns this request alone.
  if (status === 429 && Number(headers.get('x-ratelimit-remaining') ?? 0) >= cost) return { type: 'unknown', headers };
  if (status === 429) return { type: 'refused', waitMs: (retryAfterSeconds ?? 0) * 1_000, headers };
  return { type: status < 500 ? 'admitted' : 'unknown', headers };
}
