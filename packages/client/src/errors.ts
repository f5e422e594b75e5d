import type { CodesOfClass } from './error-codes.ts';

/**
 * A code that this release does not know, because a newer service sends it. The class of the error, which depends on the
 * status, shows the kind of failure. The type is an enumeration without values at run time: with a type that is comparable
 * to any string literal, misspelt codes would compile.
 */
export declare enum UnknownErrorCode {
  ofNewerService = '',
}

/** The response did not come from the service (a proxy's page, JSON cut short), or its code is not known. */
type AnyClass = 'unexpected_response' | UnknownErrorCode;

type ConnectionCode = 'connection_failed' | 'timed_out';

/** Why a call failed: the codes of the service, over REST and tRPC, and of this client. */
export type PetstoreErrorCode = CodesOfClass[keyof CodesOfClass] | ConnectionCode | AnyClass;

export interface PetstoreErrorDetails {
  readonly code: PetstoreErrorCode;
  /** @default undefined: there was no response */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** Thrown by every failed call, except by one that the caller aborted: that call throws the reason of the signal. */
export class PetstoreError extends Error {
  override readonly name: string = 'PetstoreError';
  /** Machine-readable; the service's own code if it responded. Each class has its own codes. */
  readonly code: PetstoreErrorCode;
  /** The HTTP status; `undefined` if there was no response. */
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
}

/** 400, 405, 413 and the like: the request is not valid as it is. */
export class InvalidRequestError extends PetstoreError {
  override readonly name = 'InvalidRequestError';
  declare readonly code: CodesOfClass['InvalidRequestError'] | AnyClass;
}

/** 401: the API key is missing or not valid. */
export class AuthenticationError extends PetstoreError {
  override readonly name = 'AuthenticationError';
  declare readonly code: CodesOfClass['AuthenticationError'] | AnyClass;
}

/**
 * 403: the API key does not permit the operation. The message says what to ask the operator of the service for: a key that
 * was created without `--read-only`, or one created with `--internal`.
 */
export class PermissionError extends PetstoreError {
  override readonly name = 'PermissionError';
  declare readonly code: CodesOfClass['PermissionError'] | AnyClass;
}

/** 404: there is no such order or pet. */
export class NotFoundError extends PetstoreError {
  override readonly name = 'NotFoundError';
  declare readonly code: CodesOfClass['NotFoundError'] | AnyClass;
}

/** 409: the state of the order does not allow the operation. */
export class ConflictError extends PetstoreError {
  override readonly name = 'ConflictError';
  declare readonly code: CodesOfClass['ConflictError'] | AnyClass;
}

/** 410: the operation is past its sunset date. */
export class OperationSunsetError extends PetstoreError {
  override readonly name = 'OperationSunsetError';
  declare readonly code: CodesOfClass['OperationSunsetError'] | AnyClass;
}

/** 410: events after the position have been deleted. Read the orders again, and follow events from now on. */
export class EventsExpiredError extends PetstoreError {
  override readonly name = 'EventsExpiredError';
  declare readonly code: CodesOfClass['EventsExpiredError'];
}

/** 429: the limits of the key's plan are used up, the key has too much in flight, or it is banned for a while. */
export class RateLimitError extends PetstoreError {
  override readonly name = 'RateLimitError';
  declare readonly code: CodesOfClass['RateLimitError'] | AnyClass;
}

/** 408 and 5xx: the service, or something on the way to it, could not respond; or a response could not be understood. */
export class ServiceError extends PetstoreError {
  override readonly name = 'ServiceError';
  declare readonly code: CodesOfClass['ServiceError'] | AnyClass;
}

/**
 * There was no response, or only a part of one; the error then has a `requestId`. It is unknown whether the service
 * executed the call.
 */
export class ConnectionError extends PetstoreError {
  override readonly name: string = 'ConnectionError';
  declare readonly code: ConnectionCode;
}

/** Nothing arrived from the service for `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
  declare readonly code: 'timed_out';
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

/** The error of a response, in the class for its status. */
export function responseError(
  message: string,
  { code, ...details }: Omit<PetstoreErrorDetails, 'code'> & { readonly code: string; readonly status: number },
): PetstoreError {
  const { status } = details;
  const ofStatus = code === 'events_expired' ? EventsExpiredError : CLASS_OF_STATUS[status];
  const ErrorClass = ofStatus ?? (status >= 400 && status < 500 ? InvalidRequestError : ServiceError);
  return new ErrorClass(message, { ...details, code: code as PetstoreErrorCode }); // an unknown code is an UnknownErrorCode
}
