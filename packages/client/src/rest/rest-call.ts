import { type Connection, checkedMaxRetries, checkedTimeoutMs } from '../options.ts';
import type { RetriedCall } from '../transport/retry-loop.ts';
import type { ServiceResponse } from '../transport/service-response.ts';

/** For one call; what is left out is as the client was made. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long one attempt may take, in milliseconds, at least 1. */
  readonly timeoutMs?: number | undefined;
  /** How often the call is tried again where that may help, 0 to 10. */
  readonly maxRetries?: number | undefined;
}

/**
 * One call of a REST operation: sends the request and reads its response, until both succeed or one fails for good.
 *
 * @throws PetstoreError where there is no response, or one without success
 */
export type RestCall = <Result>(
  read: (response: ServiceResponse) => Result | Promise<Result>,
  done?: RetriedCall<Result>['done'],
) => Promise<Result>;

/**
 * @param path from the version segment on, with the query if there is one, percent-encoded
 * @throws TypeError when an option is not valid
 */
export function createRestCall(
  { retries, sender, serviceUrl, timeoutMs: defaultTimeoutMs }: Connection,
  method: 'GET' | 'DELETE',
  path: string,
  { signal, timeoutMs = defaultTimeoutMs, maxRetries }: CallOptions = {},
): RestCall {
  const request = {
    method,
    url: serviceUrl + path,
    headers: { accept: 'application/json' },
    timeoutMs: checkedTimeoutMs(timeoutMs),
    signal,
  };
  if (maxRetries !== undefined) checkedMaxRetries(maxRetries);
  return (read, done) => {
    const attempt = async () => {
      const response = await sender.send(request);
      if (!response.ok) throw await response.readError();
      return read(response);
    };
    return retries.run({ attempt, signal, maxRetries, done });
  };
}
