import type { DomainReason } from '@petstore/domain';
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server';
import type { ApiVersion } from './openapi/versions.ts';

interface ErrorEntry<Code extends string> {
  /** The HTTP status over REST. */
  readonly status: number;
  /** The code of tRPC's own envelope. */
  readonly trpcCode: TRPC_ERROR_CODE_KEY;
  /** The default message. Never repeats what the caller sent: it might be a key. */
  readonly message: string;
  /** What happened, in Markdown, as the table of docs/errors.md has it. */
  readonly meaning: string;
  /** The class that our client throws. */
  readonly clientClass: ClientClass;
  /**
   * The code that v1 responds with instead: v1 gets no new codes. An error that is new in v2 needs it if an operation that
   * v1 has, too, can end in it.
   *
   * @default the code itself
   */
  readonly inV1?: Code;
  /** What the documents say of a response that this error alone leads to. @default what they say of its status */
  readonly response?: string;
  /** Headers of the response, with names in lower case, in addition to those of every response. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

type ClientClass =
  | 'InvalidRequestError'
  | 'AuthenticationError'
  | 'PermissionError'
  | 'NotFoundError'
  | 'ConflictError'
  | 'OperationSunsetError'
  | 'EventsExpiredError'
  | 'RateLimitError'
  | 'ServiceError';

/** Keeps the codes, and leaves the rest to their type: what callers import would repeat it all. */
const catalogueOf = <Code extends string>(
  entries: Readonly<Record<Code, ErrorEntry<NoInfer<Code>>>>,
): Readonly<Record<Code, ErrorEntry<Code>>> => entries;

const NO_LONGER_PENDING = 'The order is no longer pending.';

/**
 * Every failure that a caller can see. The set is closed, and documented in docs/errors.md. The challenges are those of RFC
 * 6750 section 3: no error code if no credentials came, `invalid_token` if they are not valid.
 */
export const ERROR_CATALOGUE = catalogueOf({
  invalid_request: {
    status: 400,
    trpcCode: 'BAD_REQUEST',
    message: 'The request is not valid.',
    meaning: 'The URL, a parameter or the input is not as documented.',
    clientClass: 'InvalidRequestError',
  },
  malformed_json: {
    status: 400,
    trpcCode: 'PARSE_ERROR',
    message: 'The request body is not valid JSON.',
    meaning: 'tRPC only: the body is not JSON.',
    clientClass: 'InvalidRequestError',
  },
  missing_api_key: {
    status: 401,
    trpcCode: 'UNAUTHORIZED',
    message: 'An API key is required. Send it as "Authorization: Bearer <API_KEY>".',
    meaning: 'The request has no bearer token.',
    clientClass: 'AuthenticationError',
    headers: { 'www-authenticate': 'Bearer realm="petstore"' },
  },
  invalid_api_key: {
    status: 401,
    trpcCode: 'UNAUTHORIZED',
    message: 'The API key is not valid.',
    meaning: 'The key is unknown, mistyped, revoked or expired.',
    clientClass: 'AuthenticationError',
    headers: {
      'www-authenticate':
        'Bearer realm="petstore", error="invalid_token", error_description="The API key is unknown, revoked or expired"',
    },
  },
  insufficient_scope: {
    status: 403,
    trpcCode: 'FORBIDDEN',
    message: 'This API key is read-only. Ask the operator of the service for one that was created without --read-only.',
    meaning: 'The key is read-only, or not internal (tRPC).',
    clientClass: 'PermissionError',
    headers: { 'www-authenticate': 'Bearer realm="petstore", error="insufficient_scope"' },
  },
  order_not_found: {
    status: 404,
    trpcCode: 'NOT_FOUND',
    message: 'There is no order with this id.',
    meaning: 'There is no order with this id.',
    clientClass: 'NotFoundError',
  },
  pet_not_found: {
    status: 404,
    trpcCode: 'NOT_FOUND',
    message: 'There is no pet with this id.',
    meaning: 'There is no pet with this id.',
    clientClass: 'NotFoundError',
  },
  route_not_found: {
    status: 404,
    trpcCode: 'NOT_FOUND',
    message: 'There is no resource at this path.',
    meaning: 'There is no resource at this path.',
    clientClass: 'NotFoundError',
  },
  method_not_allowed: {
    status: 405,
    trpcCode: 'METHOD_NOT_SUPPORTED',
    message: 'This path does not support the request method. The Allow header lists the supported methods.',
    meaning: 'The path exists, with other methods.',
    clientClass: 'InvalidRequestError',
  },
  request_timeout: {
    status: 408,
    trpcCode: 'TIMEOUT',
    message: 'The request was not received in time.',
    meaning: 'The request did not arrive in time.',
    clientClass: 'ServiceError',
  },
  order_already_shipped: {
    status: 409,
    trpcCode: 'CONFLICT',
    message: 'The order has already shipped. Shipped orders cannot be reversed.',
    meaning: 'The order has shipped.',
    clientClass: 'ConflictError',
    response: NO_LONGER_PENDING,
  },
  order_already_cancelled: {
    status: 409,
    trpcCode: 'CONFLICT',
    message: 'The order has already been cancelled.',
    meaning: 'The order was cancelled before, perhaps by you.',
    clientClass: 'ConflictError',
    response: NO_LONGER_PENDING,
  },
  order_not_shipped: {
    status: 409,
    trpcCode: 'CONFLICT',
    message: 'The order has not shipped yet.',
    meaning: 'tRPC only: the order has not shipped yet.',
    clientClass: 'ConflictError',
  },
  order_already_completed: {
    status: 409,
    trpcCode: 'CONFLICT',
    message: 'The order is already complete.',
    meaning: 'tRPC only: the order was completed before.',
    clientClass: 'ConflictError',
  },
  idempotency_key_reused: {
    status: 409,
    trpcCode: 'CONFLICT',
    message:
      'The idempotency key was already used for a different order. Use a new key for each order, and retry it unchanged.',
    meaning: 'tRPC only: the idempotency key was used for another order.',
    clientClass: 'ConflictError',
  },
  operation_sunset: {
    status: 410,
    trpcCode: 'NOT_FOUND',
    message: 'This deprecated operation is past its sunset date and no longer available.',
    meaning: 'The operation is past its sunset date.',
    clientClass: 'OperationSunsetError',
    response: 'The operation is past its sunset date.',
  },
  events_expired: {
    status: 410,
    trpcCode: 'NOT_FOUND',
    message:
      'Events after this position have expired. List the orders again, then follow events from the current position.',
    meaning: 'v2 and tRPC: events after this position are deleted.',
    clientClass: 'EventsExpiredError',
    response: 'Events after the position have expired.',
  },
  payload_too_large: {
    status: 413,
    trpcCode: 'PAYLOAD_TOO_LARGE',
    message: 'The request body is too large.',
    meaning: 'tRPC only: the body exceeds the limit.',
    clientClass: 'InvalidRequestError',
  },
  unsupported_media_type: {
    status: 415,
    trpcCode: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The media type of the request body is not supported. Send application/json.',
    meaning: 'tRPC only: the body is not JSON.',
    clientClass: 'InvalidRequestError',
  },
  expectation_failed: {
    status: 417,
    trpcCode: 'BAD_REQUEST',
    message: 'The Expect header cannot be met.',
    meaning: 'The `Expect` header is not `100-continue`.',
    clientClass: 'InvalidRequestError',
  },
  rate_limit_exceeded: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message: 'Too many requests. Retry after the time in the Retry-After header.',
    meaning: "The minute's or the day's limit is used up.",
    clientClass: 'RateLimitError',
    headers: { 'cache-control': 'no-store' },
  },
  too_many_in_flight: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message: 'Too many concurrent requests are in flight. Retry when one of them has completed.',
    meaning: 'Too many requests are [in flight](guides/limits.md#concurrent-requests).',
    clientClass: 'RateLimitError',
    headers: { 'retry-after': '1', 'cache-control': 'no-store' },
  },
  api_key_banned: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message:
      'The API key is temporarily banned because requests continued before the time in Retry-After had passed. Retry ' +
      'after the time in the Retry-After header.',
    meaning: 'The key kept sending requests during `Retry-After`.',
    clientClass: 'RateLimitError',
    headers: { 'cache-control': 'no-store' },
  },
  headers_too_large: {
    status: 431,
    trpcCode: 'BAD_REQUEST',
    message: 'The request headers are too large.',
    meaning: "The request's headers exceed the limit.",
    clientClass: 'InvalidRequestError',
  },
  internal_error: {
    status: 500,
    trpcCode: 'INTERNAL_SERVER_ERROR',
    message: 'An internal error occurred.',
    meaning: 'The service failed unexpectedly.',
    clientClass: 'ServiceError',
  },
  service_unavailable: {
    status: 503,
    trpcCode: 'SERVICE_UNAVAILABLE',
    message: 'The service is temporarily unavailable. Retry after the time in the Retry-After header.',
    meaning: 'The database is unavailable or too slow.',
    clientClass: 'ServiceError',
    headers: { 'retry-after': '5' },
  },
  overloaded: {
    status: 503,
    trpcCode: 'SERVICE_UNAVAILABLE',
    message: 'The service is at capacity. Retry after the time in the Retry-After header.',
    meaning: 'The service has reached its capacity.',
    clientClass: 'ServiceError',
    headers: { 'retry-after': '1' },
  },
});

/** The machine-readable code of an error, as in the documented Error object. */
export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** The code by which a version of the REST interface reports an error. */
export const codeIn = (version: ApiVersion, code: ErrorCode): ErrorCode =>
  (version === 'v1' ? ERROR_CATALOGUE[code].inV1 : undefined) ?? code;

interface ReasonError {
  readonly code: ErrorCode;
  readonly message?: string;
}

/** The error for each reason of the domain; its message is that of the catalogue unless a more precise one is given. */
export const ERROR_OF_REASON: Readonly<Record<DomainReason, ReasonError>> = {
  order_not_found: { code: 'order_not_found' },
  order_already_shipped: { code: 'order_already_shipped' },
  order_already_cancelled: { code: 'order_already_cancelled' },
  order_not_shipped: { code: 'order_not_shipped' },
  order_already_completed: { code: 'order_already_completed' },
  idempotency_key_reused: { code: 'idempotency_key_reused' },
  events_expired: { code: 'events_expired' },
  unknown_position: {
    code: 'invalid_request',
    message: 'after: no event has this id yet. Use the id of an event, or 0 for the beginning of the retained events.',
  },
};
