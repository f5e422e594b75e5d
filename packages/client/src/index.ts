export * from './rest.ts';
export { createPetstoreClient, type PetstoreClient } from './trpc/create-petstore-client.ts';
export type { AppRouter } from './trpc/router.ts';
export { transformer } from './trpc/transformer.ts';
export { type ErrorCode, errorCodeOf, petstoreErrorOf } from './trpc/trpc-errors.ts';
export type { PetstoreInputs, PetstoreOutputs } from './trpc/types.ts';
