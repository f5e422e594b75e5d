import type { FastifyRequest } from 'fastify';
import { malformationOf } from './malformed-requests.ts';

/** What a request takes from the limits of its key. Without a key it takes 1 from the limits of its address. */
export interface RequestCost {
  /** The number of calls in the request, all of which are in flight at once. */
  readonly calls: number;
  /** The number of calls that are charged. */
  readonly charged: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The cost of a request, known before any of its calls runs. @default one call */
    readonly costOf?: (request: FastifyRequest) => RequestCost;
  }
}

const ONE_CALL: RequestCost = { calls: 1, charged: 1 };

/** What is malformed costs one call: it has no route that says more. */
export const costOf = (request: FastifyRequest): RequestCost =>
  (malformationOf(request) === undefined && request.routeOptions.config.costOf?.(request)) || ONE_CALL;
