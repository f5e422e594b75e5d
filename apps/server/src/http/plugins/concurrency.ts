import { ADDRESS_REQUESTS_IN_FLIGHT_MAX, KEY_REQUESTS_IN_FLIGHT_MAX } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { InFlightCounts } from '../in-flight-counts.ts';
import { costOf } from '../request-cost.ts';
import { refusalOf } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Counts the calls of the request among those that its caller has in flight: its key, or its address as long as the
     * key is not known. Called again, it counts them for who the caller is by then. They are given back when the reply is
     * closed: at once if its client has left already.
     *
     * @returns false if the caller has as much in flight as it may
     * @throws ApiError `overloaded`
     */
    takePlace(reply: FastifyReply): boolean;
    /** Gives back what {@link takePlace} took. */
    leavePlace: (() => void) | undefined;
  }
}

export interface ConcurrencyOptions {
  /** How many requests may be in flight at once, of all callers together. */
  readonly maxRequests: number;
  /** How many are. */
  readonly requestCount: () => number;
}

/** Bounds what each caller, and all of them together, have in flight. */
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
      // A batch that never fits is refused later, as a mistake.
      const count = principal === undefined || calls > max ? 1 : calls;
      this.leavePlace = inFlight.take(subject.name, count, max);
      if (this.leavePlace === undefined) return false;
      reply.whenClosed(this.leavePlace);
      return true;
    });
  },
  { name: 'concurrency', dependencies: ['in-flight', 'subject'] },
);
