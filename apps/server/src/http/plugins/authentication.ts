import type { Authentication, Authenticator, KeyLookUp } from '@petstore/api';
import type { RateLimiter, RateLimitRefusal } from '@petstore/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { refusalOf } from './errors.ts';

/** The sender of a request. The limits refuse a caller that must not be admitted, and count the request. */
export type Caller =
  | Authentication
  /** This process knows that the caller is over its limit or banned; it is refused without asking Redis. */
  | { readonly type: 'limited'; readonly refusal: RateLimitRefusal };

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'identify'>;
  readonly limiter: Pick<RateLimiter, 'lastKnown'>;
  readonly isStorageAvailable: () => boolean;
}

/** The number of unknown keys that may be looked up for an address that is over its limit. */
const LOOK_UPS_PER_SECOND = 5;
/** The number of addresses that may have such look-ups in the same second. */
const LOOK_UP_ADDRESSES_MAX = 10_000;

/** Identifies the sender of a request, at a cost that its address limits, because the sender may be an attacker. */
export const authentication = fp<AuthenticationOptions>(
  async (app, options) => {
    const { authenticator, limiter, isStorageAvailable } = options;
    const mayLookUp = createLookUpBound();
    app.decorateRequest('caller', undefined);

    app.addHook('onRequest', (request, reply, done) => {
      const identity = authenticator.identify(request.headers.authorization);
      if (identity.type === 'look-up') {
        request.principal = identity.knownPrincipal;
        request.caller = crowded(request, reply) ?? unknown(request);
        if (request.caller !== undefined) return done();
        lookUp(request, reply, identity).then(() => done(), done);
        return;
      }
      request.principal = identity.type === 'authenticated' ? identity.principal : undefined;
      request.caller = crowded(request, reply) ?? identity;
      done();
    });

    /** @returns `undefined` if the caller may have more in flight */
    function crowded(request: FastifyRequest, reply: FastifyReply): Caller | undefined {
      if (request.takePlace(reply)) return undefined;
      const limited = refusalInForce(request);
      if (limited === undefined) throw refusalOf('rate_limit_exceeded');
      return limited;
    }

    /** @returns `undefined` if the key may be looked up */
    function unknown(request: FastifyRequest): Caller | undefined {
      if (request.principal !== undefined) return undefined;
      if (!isStorageAvailable()) throw refusalOf('service_unavailable');
      const limited = refusalInForce(request);
      return limited !== undefined && !mayLookUp(request.subject.name) ? limited : undefined;
    }

    async function lookUp(
      request: FastifyRequest,
      reply: FastifyReply,
      { knownPrincipal, lookUp }: KeyLookUp,
    ): Promise<void> {
      request.principal = undefined;
      const found = await lookUp();
      request.caller = found;
      if (found.type !== 'authenticated') return;
      request.principal = found.principal;
      // From here on the request counts for the key, not for an address that many callers may share.
      if (knownPrincipal === undefined) request.caller = crowded(request, reply) ?? found;
    }

    function refusalInForce({ subject }: FastifyRequest): Caller | undefined {
      const known = limiter.lastKnown(subject);
      return known.outcome === 'last known' ? undefined : { type: 'limited', refusal: known };
    }
  },
  { name: 'authentication', dependencies: ['subject', 'concurrency'] },
);

/**
 * Lets a few unknown keys of an address be looked up although the address is over its limit. A valid key behind the same
 * address is then admitted within a moment, while forged ones cost next to nothing.
 */
function createLookUpBound(): (address: string) => boolean {
  const lookUps = new Map<string, number>();
  let secondEndsAtMs = 0;
  return (address) => {
    const nowMs = performance.now();
    if (nowMs >= secondEndsAtMs) {
      lookUps.clear();
      secondEndsAtMs = nowMs + 1_000;
    }
    const count = lookUps.get(address) ?? 0;
    if (count >= LOOK_UPS_PER_SECOND || (count === 0 && lookUps.size >= LOOK_UP_ADDRESSES_MAX)) return false;
    lookUps.set(address, count + 1);
    return true;
  };
}
