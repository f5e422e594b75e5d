import { type Connection, checkedMaxRetries, checkedTimeoutMs } from '../options.ts';
import type { Answer } from '../transport/answer.ts';
import { attemptWithRetries } from '../transport/retry-policy.ts';

/** For one call; what is left out is as the client was made. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long one attempt may take, in milliseconds, at least 1. */
  readonly timeoutMs?: number | undefined;
  /** How often the call is tried again where that may help, 0 to 10. */
  readonly maxRetries?: number | undefined;
}

/** One call of a REST operation. */
export interface RestCall {
  /** Sends the request once. @throws PetstoreError where there is no answer, or one without success */
  attempt(): Promise<Answer>;
  /** Runs what attempts, until it succeeds or fails for good. */
  repeat<Result>(attempt: () => Promise<Result>): Promise<Result>;
}

/**
 * @param path from the version segment on, with the query if there is one, percent-encoded
 * @throws TypeError when an option cannot be what it is meant to be
 */
export function createRestCall(
  connection: Connection,
  method: 'GET' | 'DELETE',
  path: string,
  options: CallOptions = {},
): RestCall {
  const { clock, retryPolicy, sender, serviceUrl } = connection;
  const { signal, timeoutMs = connection.timeoutMs, maxRetries = retryPolicy.maxRetries } = options;
  const policy = { ...retryPolicy, maxRetries: checkedMaxRetries(maxRetries) };
  const request = {
    method,
    url: serviceUrl + path,
    headers: { accept: 'application/json' },
    timeoutMs: checkedTimeoutMs(timeoutMs),
    signal,
  };
  return {
    async attempt() {
      const answer = await sender.send(request);
      if (answer.ok) return answer;
      throw await answer.readError();
    },
    repeat: (attempt) => attemptWithRetries(attempt, { policy, clock, signal }),
  };
}
