export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  EventsExpiredError,
  InvalidRequestError,
  NotFoundError,
  OperationSunsetError,
  PermissionError,
  PetstoreError,
  type PetstoreErrorCode,
  type PetstoreErrorDetails,
  RateLimitError,
  ServiceError,
  TimeoutError,
  type UnknownErrorCode,
} from './errors.ts';
export type { FollowEventsOptions } from './follow-events.ts';
export type { CallOptions, PetstoreClientOptions } from './options.ts';
export type { OrderEventV2 } from './rest/order-events.ts';
export type { Order, OrderFilter, OrderList, OrderV2 } from './rest/order-lists.ts';
export {
  createPetstoreRestClient,
  type Key,
  type Limits,
  type Pet,
  type PetstoreRestClient,
  type PetstoreRestClientV2,
} from './rest/rest-client.ts';
export type { ReportedLimits, ReportedWindow } from './transport/reported-limits.ts';
