export { createPetstoreClient, type PetstoreClient, type PetstoreClientOptions } from './create-petstore-client.ts';
export { type ErrorCode, errorCodeOf } from './error-code.ts';
export { transformer } from './transformer.ts';
export type { PetstoreInputs, PetstoreOutputs } from './types.ts';
