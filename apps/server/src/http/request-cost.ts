import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The cost of a request, known before any of its calls runs. @default one call */
    readonly costOf?: (request: FastifyRequest) => RequestCost;
  }
}

/** What a request takes from the limits of its key. Without a key it takes 1 from the limits of its address. */
export interface RequestCost {
  /** The number of calls in the request, all of which are in flight at once. */
  readonly calls: number;
  /** The number of calls that are charged. */
  readonly charged: number;
}

const ONE_CALL: RequestCost = { calls: 1, charged: 1 };

export const costOf = (request: FastifyRequest): RequestCost =>
  request.routeOptions.config.costOf?.(request) ?? ONE_CALL;
