import { ADDRESS_REQUESTS_IN_FLIGHT_MAX, KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { InFlightCounts } from '../in-flight-counts.ts';
import { costOf } from '../request-cost.ts';
import { refusalOf } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Counts the calls of the request as in flight for its caller: its key, or its address while the key is not known. If it
     * is called again, it counts them for the caller known by then. They are released when the reply is closed: at once if
     * its client has already left.
     *
     * @returns false if the caller has the maximum in flight
     * @throws ApiError `overloaded`
     */
    takePlace(reply: FastifyReply): boolean;
    /** Releases what {@link takePlace} took. */
    leavePlace: (() => void) | undefined;
  }
}

export interface ConcurrencyOptions {
  /** The maximum number of requests in flight at once, of all callers together. */
  readonly maxRequests: number;
  /** The number of requests in flight. */
  readonly requestCount: () => number;
}

/** Limits what each caller, and all callers together, have in flight. */
export const concurrency = fp<ConcurrencyOptions>(
  async (app, { maxRequests, requestCount }) => {
    const inFlight = new InFlightCounts();
    app.decorateRequest('leavePlace', undefined);
    app.decorateRequest('takePlace', function takePlace(this: FastifyRequest, reply: FastifyReply) {
      if (requestCount() > maxRequests) throw refusalOf('overloaded');
      const { principal, subject, leavePlace } = this;
      leavePlace?.();
      const max = principal === undefined ? ADDRESS_REQUESTS_IN_FLIGHT_MAX : KEY_REQUESTS_IN_FLIGHT_MAX;
      const { calls } = costOf(this);
      // A batch that could never fit is refused later, as an invalid request.
      const count = principal === undefined || calls > max ? 1 : calls;
      this.leavePlace = inFlight.take(subject.name, count, max);
      if (this.leavePlace === undefined) return false;
      reply.whenClosed(this.leavePlace);
      return true;
    });
  },
  { name: 'concurrency', dependencies: ['in-flight', 'subject'] },
);
