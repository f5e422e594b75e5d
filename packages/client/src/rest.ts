export * from './errors.ts';
export type { PetstoreClientOptions } from './options.ts';
export { createPetstoreRestClient, type Pet, type PetstoreRestClient } from './rest/create-petstore-rest-client.ts';
export type { Order, OrderList } from './rest/order-list.ts';
export type { CallOptions } from './rest/rest-call.ts';
export type { ClientClock } from './transport/clock.ts';
