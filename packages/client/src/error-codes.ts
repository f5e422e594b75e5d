// Written by "pnpm --filter @petstore/client generate" from the service's error catalogue. Do not edit.

/** The codes that an error of each class may have. */
export interface CodesOfClass {
  InvalidRequestError:
    | 'invalid_request'
    | 'malformed_json'
    | 'method_not_allowed'
    | 'payload_too_large'
    | 'unsupported_media_type'
    | 'expectation_failed'
    | 'headers_too_large';
  AuthenticationError: 'missing_api_key' | 'invalid_api_key';
  PermissionError: 'insufficient_scope';
  NotFoundError: 'order_not_found' | 'pet_not_found' | 'route_not_found';
  ServiceError: 'request_timeout' | 'internal_error' | 'service_unavailable' | 'overloaded';
  ConflictError:
    | 'order_already_shipped'
    | 'order_already_cancelled'
    | 'order_not_shipped'
    | 'order_already_completed'
    | 'idempotency_key_reused';
  OperationSunsetError: 'operation_sunset';
  EventsExpiredError: 'events_expired';
  RateLimitError: 'rate_limit_exceeded' | 'too_many_in_flight' | 'api_key_banned';
}
