export * from './rest.ts';
export { createPetstoreClient, type PetstoreClient } from './trpc/create-petstore-client.ts';
export type { FollowEventsOptions, OrderEvent } from './trpc/order-events.ts';
export type { AppRouter, ErrorCode, PetstoreInputs, PetstoreOutputs } from './trpc/router.ts';
export { transformer } from './trpc/transformer.ts';
export { errorCodeOf, petstoreErrorOf } from './trpc/trpc-errors.ts';
