import type { AppRouter } from '@petstore/api';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';

/**
 * All that the client knows of the service's procedures: types alone. The published package contains them itself, see
 * `scripts/build-package.ts`.
 */
export type { AppRouter, ErrorCode, TrpcErrorShape } from '@petstore/api';

/** What each procedure takes: `PetstoreInputs['orders']['place']`. */
export type PetstoreInputs = inferRouterInputs<AppRouter>;

/** What each procedure returns: `PetstoreOutputs['orders']['place']` is an order. */
export type PetstoreOutputs = inferRouterOutputs<AppRouter>;
