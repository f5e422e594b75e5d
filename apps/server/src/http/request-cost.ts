import { KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
import { canEverFit, type Subject } from '@petstore/rate-limit';
import type { FastifyRequest } from 'fastify';

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

export const ONE_CALL: RequestCost = { calls: 1, charged: 1 };
export const ONE_FREE_CALL: RequestCost = { calls: 1, charged: 0 };

export const costOf = (request: FastifyRequest): RequestCost =>
  request.routeOptions.config.costOf?.(request) ?? ONE_CALL;

/** Whether a request would be admitted if its key had made no other. */
export const canFit = (subject: Subject, { calls, charged }: RequestCost): boolean =>
  calls === 1 || (canEverFit(subject, charged) && calls <= KEY_REQUESTS_IN_FLIGHT_MAX);
