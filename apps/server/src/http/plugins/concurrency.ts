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
     * @throws ApiError `overloaded` if all callers together have, or all those without a key that is known
     */
    takePlace(reply: FastifyReply): boolean;
    /** Releases what {@link takePlace} took. */
    leavePlace: (() => void) | undefined;
  }
}

export interface ConcurrencyOptions {
  /** The maximum number of requests in flight at once, of all callers together. */
  readonly maxRequests: number;
  /** How many of them may be of callers without a key that is known, so that they leave room for those with keys. */
  readonly maxRequestsWithoutKey: number;
}

/** The names under which the requests of all callers are counted; no key and no address has such a name. */
const ALL = 'all';
const ALL_WITHOUT_KEY = 'all without a key';

/** Limits what each caller, and all callers together, have in flight. */
export const concurrency = fp<ConcurrencyOptions>(
  async (app, { maxRequests, maxRequestsWithoutKey }) => {
    const inFlight = new InFlightCounts();
    app.decorateRequest('leavePlace', undefined);
    app.decorateRequest('takePlace', function takePlace(this: FastifyRequest, reply: FastifyReply) {
      const { principal, subject, leavePlace } = this;
      leavePlace?.();
      this.leavePlace = undefined;
      const max = principal === undefined ? ADDRESS_REQUESTS_IN_FLIGHT_MAX : KEY_REQUESTS_IN_FLIGHT_MAX;
      const { calls } = costOf(this);
      // A batch that could never fit is refused later, as an invalid request.
      const count = principal === undefined || calls > max ? 1 : calls;
      const places = [
        inFlight.take(subject.name, count, max),
        inFlight.take(ALL, 1, maxRequests),
        principal === undefined ? inFlight.take(ALL_WITHOUT_KEY, 1, maxRequestsWithoutKey) : () => {},
      ];
      const leave = () => {
        for (const leavePlace of places) leavePlace?.();
      };
      if (places.includes(undefined)) {
        leave();
        if (places[0] === undefined) return false;
        throw refusalOf('overloaded');
      }
      this.leavePlace = leave;
      reply.whenClosed(leave);
      return true;
    });
  },
  { name: 'concurrency', dependencies: ['in-flight', 'subject'] },
);
