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
export type { PetstoreClientOptions } from './options.ts';
export {
  createPetstoreRestClient,
  type Pet,
  type PetstoreRestClient,
  type PetstoreRestClientV2,
} from './rest/create-petstore-rest-client.ts';
export type { Order, OrderList } from './rest/order-list.ts';
export type { OrderFilter, OrderV2, OrderV2List } from './rest/order-pages.ts';
export type { CallOptions } from './rest/rest-call.ts';
export type { ClientClock } from './transport/clock.ts';
