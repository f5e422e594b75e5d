export * from './rest.ts';
export type { OrderEvent } from './trpc/order-events.ts';
export type { AppRouter, ErrorCode, PetstoreInputs, PetstoreOutputs } from './trpc/router.ts';
export { transformer } from './trpc/transformer.ts';
export { createPetstoreClient, type PetstoreClient } from './trpc/trpc-client.ts';
export { petstoreErrorOf } from './trpc/trpc-errors.ts';
