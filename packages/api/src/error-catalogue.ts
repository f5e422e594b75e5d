import type { TRPC_ERROR_CODE_KEY } from '@trpc/server';

interface ErrorEntry {
  /** The HTTP status over REST. */
  readonly status: number;
  /** The code of tRPC's own envelope. */
  readonly trpcCode: TRPC_ERROR_CODE_KEY;
  /** The default message. Never repeats what the caller sent: it might be a key. */
  readonly message: string;
}

/** Every failure that a caller can see. The set is closed, and documented in docs/errors.md. */
export const ERROR_CATALOGUE = {
  invalid_request: { status: 400, trpcCode: 'BAD_REQUEST', message: 'The request is not valid.' },
  malformed_json: { status: 400, trpcCode: 'PARSE_ERROR', message: 'The request body is not valid JSON.' },
  missing_api_key: {
    status: 401,
    trpcCode: 'UNAUTHORIZED',
    message: 'An API key is required. Send it as "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: { status: 401, trpcCode: 'UNAUTHORIZED', message: 'The API key is not valid.' },
  insufficient_scope: {
    status: 403,
    trpcCode: 'FORBIDDEN',
    message: 'This API key is read-only. Ask the operator of the service for one that was created without --read-only.',
  },
  order_not_found: { status: 404, trpcCode: 'NOT_FOUND', message: 'There is no order with this id.' },
  pet_not_found: { status: 404, trpcCode: 'NOT_FOUND', message: 'There is no pet with this id.' },
  route_not_found: { status: 404, trpcCode: 'NOT_FOUND', message: 'There is no resource at this path.' },
  method_not_allowed: {
    status: 405,
    trpcCode: 'METHOD_NOT_SUPPORTED',
    message: 'This path does not support the request method. The Allow header lists the supported methods.',
  },
  request_timeout: { status: 408, trpcCode: 'TIMEOUT', message: 'The request was not received in time.' },
  order_already_shipped: {
    status: 409,
    trpcCode: 'CONFLICT',
    message: 'The order has already shipped. Shipped orders cannot be reversed.',
  },
  order_already_cancelled: { status: 409, trpcCode: 'CONFLICT', message: 'The order has already been cancelled.' },
  order_not_shipped: { status: 409, trpcCode: 'CONFLICT', message: 'The order has not shipped yet.' },
  order_already_completed: { status: 409, trpcCode: 'CONFLICT', message: 'The order is already complete.' },
  idempotency_key_reused: {
    status: 409,
    trpcCode: 'CONFLICT',
    message:
      'The idempotency key was already used for a different order. Use a new key for each order, and retry it unchanged.',
  },
  operation_sunset: {
    status: 410,
    trpcCode: 'NOT_FOUND',
    message: 'This deprecated operation is past its sunset date and no longer available.',
  },
  events_expired: {
    status: 410,
    trpcCode: 'NOT_FOUND',
    message:
      'Events after this position have expired. List the orders again, then follow events from the current position.',
  },
  payload_too_large: { status: 413, trpcCode: 'PAYLOAD_TOO_LARGE', message: 'The request body is too large.' },
  unsupported_media_type: {
    status: 415,
    trpcCode: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The media type of the request body is not supported. Send application/json.',
  },
  expectation_failed: { status: 417, trpcCode: 'BAD_REQUEST', message: 'The Expect header cannot be met.' },
  rate_limit_exceeded: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message: 'Too many requests. Retry after the time in the Retry-After header.',
  },
  too_many_in_flight: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message: 'Too many concurrent requests are in flight. Retry when one of them has completed.',
  },
  api_key_banned: {
    status: 429,
    trpcCode: 'TOO_MANY_REQUESTS',
    message:
      'The API key is temporarily banned because requests continued before the time in Retry-After had passed. Retry ' +
      'after the time in the Retry-After header.',
  },
  headers_too_large: { status: 431, trpcCode: 'BAD_REQUEST', message: 'The request headers are too large.' },
  internal_error: { status: 500, trpcCode: 'INTERNAL_SERVER_ERROR', message: 'An internal error occurred.' },
  service_unavailable: {
    status: 503,
    trpcCode: 'SERVICE_UNAVAILABLE',
    message: 'The service is temporarily unavailable. Retry after the time in the Retry-After header.',
  },
  overloaded: {
    status: 503,
    trpcCode: 'SERVICE_UNAVAILABLE',
    message: 'The service is at capacity. Retry after the time in the Retry-After header.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** The machine-readable code of an error, as in the documented Error object. */
export type ErrorCode = keyof typeof ERROR_CATALOGUE;
