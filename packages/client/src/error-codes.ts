// Written by "pnpm --filter @petstore/client generate" from the service's error catalogue. Do not edit.

/** The codes that an error of each status may have. */
export interface CodesOfStatus {
  400: 'invalid_request' | 'malformed_json';
  401: 'missing_api_key' | 'invalid_api_key';
  403: 'insufficient_scope';
  404: 'order_not_found' | 'pet_not_found' | 'route_not_found';
  405: 'method_not_allowed';
  408: 'request_timeout';
  409:
    | 'order_already_shipped'
    | 'order_already_cancelled'
    | 'order_not_shipped'
    | 'order_already_completed'
    | 'idempotency_key_reused';
  410: 'operation_sunset' | 'events_expired';
  413: 'payload_too_large';
  415: 'unsupported_media_type';
  417: 'expectation_failed';
  429: 'rate_limit_exceeded' | 'too_many_in_flight' | 'api_key_banned';
  431: 'headers_too_large';
  500: 'internal_error';
  503: 'service_unavailable' | 'overloaded';
}
