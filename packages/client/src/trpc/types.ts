import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from './router.ts';

/** What each procedure takes: `PetstoreInputs['orders']['place']`. */
export type PetstoreInputs = inferRouterInputs<AppRouter>;

/** What each procedure gives: `PetstoreOutputs['orders']['place']` is an order. */
export type PetstoreOutputs = inferRouterOutputs<AppRouter>;
