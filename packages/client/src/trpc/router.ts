import type { AppRouter } from '@petstore/api';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';

/**
 * Everything that the client knows of the service's procedures, as types only. The published package includes them, see
 * `scripts/build-package.ts`.
 */
export type { AppRouter, ErrorCode, TrpcErrorShape } from '@petstore/api';

/** The inputs of procedures: `PetstoreInputs['orders']['place']`. */
export type PetstoreInputs = inferRouterInputs<AppRouter>;

/** The outputs of procedures: `PetstoreOutputs['orders']['place']` is an order. */
export type PetstoreOutputs = inferRouterOutputs<AppRouter>;
