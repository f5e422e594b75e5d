import {
  AuthenticationError,
  ConflictError,
  EventsExpiredError,
  InvalidRequestError,
  NotFoundError,
  OperationSunsetError,
  PermissionError,
  type PetstoreError,
  type PetstoreErrorCode,
  type PetstoreErrorDetails,
  RateLimitError,
  ServiceError,
} from './errors.ts';

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
  { code, ...details }: Omit<PetstoreErrorDetails, 'code'> & { readonly code: string; readonly status: number },
): PetstoreError {
  const { status } = details;
  const ofStatus = code === 'events_expired' ? EventsExpiredError : CLASS_OF_STATUS[status];
  const ErrorClass = ofStatus ?? (status >= 400 && status < 500 ? InvalidRequestError : ServiceError);
  return new ErrorClass(message, { ...details, code: code as PetstoreErrorCode }); // what is not known is an UnknownErrorCode
}
