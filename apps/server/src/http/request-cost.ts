import { KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
import { canEverFit, type Subject } from '@petstore/rate-limit';
import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The number of calls in a request, known before any of them runs. @default 1 */
    readonly countCalls?: (request: FastifyRequest) => number;
  }
}

/**
 * What a request takes from the limits of its key, and of what the key may have in flight: one for each call. Without a key
 * it takes 1 from the limits of its address.
 */
export const costOf = (request: FastifyRequest): number => request.routeOptions.config.countCalls?.(request) ?? 1;

/** Whether a request would be admitted if its key had made no other. */
export const canFit = (subject: Subject, cost: number): boolean =>
  cost === 1 || (canEverFit(subject, cost) && cost <= KEY_REQUESTS_IN_FLIGHT_MAX);
