import type { Authentication, Authenticator, KeyLookUp } from '@petstore/api';
import type { RateLimiter, RateLimitRefusal } from '@petstore/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { refusalOf } from './errors.ts';

/** Who sends a request. A caller that must not be admitted is refused by the limits, which count it. */
export type Caller =
  | Authentication
  /** Over its limit or banned, as far as this process knows; it is refused without asking Redis. */
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

/** Look-ups of unknown keys that an address over its limit may still cause. */
const LOOK_UPS_PER_SECOND = 5;
/** Addresses that may have such look-ups in the same second. */
const LOOK_UP_ADDRESSES_MAX = 10_000;

/** Finds out who sends a request, at no more cost than its address may cause: its sender may be an attacker. */
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
      // From here on it is counted for the key, not for an address which many may share.
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
 * Lets a few unknown keys of an address be looked up although it is over its limit: so a good key behind the same address
 * is admitted within a moment, and forged ones cost next to nothing.
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
