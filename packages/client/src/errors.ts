import type { components } from './rest/document.ts';

/** The codes of the service's REST responses, as its document lists them. */
type DocumentedCode = components['schemas']['Error']['code'];

/**
 * The codes of this client: there was no response, or not in time, or it did not come from the service (a proxy's page,
 * JSON cut short).
 */
type ClientCode = 'connection_failed' | 'timed_out' | 'unexpected_response';

/** Why a call failed. The set is open: a newer service may send codes that this client does not know. */
export type PetstoreErrorCode = DocumentedCode | ClientCode | (string & {});

export interface PetstoreErrorDetails {
  readonly code: PetstoreErrorCode;
  /** @default undefined: there was no response */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** What every failed call throws, except for one that the caller aborted: it throws the reason of the signal. */
export class PetstoreError extends Error {
  override readonly name: string = 'PetstoreError';
  /** Machine-readable; the service's own where it responded. */
  readonly code: PetstoreErrorCode;
  /** The HTTP status; `undefined` where there was no response. */
  readonly status: number | undefined;
  /** Identifies the request in the service's logs (`X-Request-Id`). */
  readonly requestId: string | undefined;
  /** How long the service asked to wait, in whole seconds (`Retry-After`). */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { code, status, requestId, retryAfterSeconds, cause }: PetstoreErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The same as {@link retryAfterSeconds}, by the name of the header. */
  get retryAfter(): number | undefined {
    return this.retryAfterSeconds;
  }
}

/** 400, 405, 413 and the like: the request is not valid as it is. */
export class InvalidRequestError extends PetstoreError {
  override readonly name = 'InvalidRequestError';
}

/** 401: the API key is missing or not valid. */
export class AuthenticationError extends PetstoreError {
  override readonly name = 'AuthenticationError';
}

/** 403: the API key does not permit the operation. */
export class PermissionError extends PetstoreError {
  override readonly name = 'PermissionError';
}

/** 404: there is no such order or pet. */
export class NotFoundError extends PetstoreError {
  override readonly name = 'NotFoundError';
}

/** 409: the state of the order does not allow it. */
export class ConflictError extends PetstoreError {
  override readonly name = 'ConflictError';
}

/** 410: the operation is past its sunset date. */
export class OperationSunsetError extends PetstoreError {
  override readonly name = 'OperationSunsetError';
}

/** 410: events behind the position have been deleted. Read the orders anew, and follow events from now on. */
export class EventsExpiredError extends PetstoreError {
  override readonly name = 'EventsExpiredError';
}

/** 429: the limits of the key's plan are used up, or the key is banned for a while. */
export class RateLimitError extends PetstoreError {
  override readonly name = 'RateLimitError';
}

/** 408 and 5xx: the service, or something on the way to it, could not respond; or a response makes no sense. */
export class ServiceError extends PetstoreError {
  override readonly name = 'ServiceError';
}

/** There was no response, or only a part of one. Whether the service executed the call is not known. */
export class ConnectionError extends PetstoreError {
  override readonly name: string = 'ConnectionError';
}

/** An attempt took longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

const CLASS_OF_STATUS: Readonly<Record<number, typeof PetstoreError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  408: ServiceError,
  409: ConflictError,
  410: OperationSunsetError,
  429: RateLimitError,
};

/** The error of a response, of the class for its status. */
export function createResponseError(
  message: string,
  details: PetstoreErrorDetails & { status: number },
): PetstoreError {
  const { status } = details;
  const ofStatus = details.code === 'events_expired' ? EventsExpiredError : CLASS_OF_STATUS[status];
  const ErrorClass = ofStatus ?? (status >= 400 && status < 500 ? InvalidRequestError : ServiceError);
  return new ErrorClass(message, details);
}
