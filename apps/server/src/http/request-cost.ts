import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a request takes from the limits of its key, known before anything of it runs. @default one call */
    readonly costOf?: (request: FastifyRequest) => RequestCost;
  }
}

/** What a request takes from the limits of its key. Without a key it takes 1 from those of its address. */
export interface RequestCost {
  /** The calls it holds, all of which are in flight at once. */
  readonly calls: number;
  /** Those that are charged. */
  readonly charged: number;
}

const ONE_CALL: RequestCost = { calls: 1, charged: 1 };

export const costOf = (request: FastifyRequest): RequestCost =>
  request.routeOptions.config.costOf?.(request) ?? ONE_CALL;
