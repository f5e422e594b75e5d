import { type ApiKeyPrincipal, limitsOfPlan } from '@petstore/domain';
import { type ApiKeySubject, apiKeySubject, clientAddressSubject, type RateLimitSubject } from '@petstore/rate-limit';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key it is, once that is known. Authentication sets it. */
    principal: ApiKeyPrincipal | undefined;
    /** By which it is counted: its key if that is known, else its address. */
    readonly subject: RateLimitSubject;
  }
}

/** Tells by what each request is counted. */
export const subject = fp(
  async (app) => {
    /** Made once for each principal that the authenticator keeps: a key whose plan changes becomes another. */
    const subjects = new WeakMap<ApiKeyPrincipal, ApiKeySubject>();
    app.decorateRequest('principal', undefined);
    app.decorateRequest('subject', {
      getter() {
        const { principal } = this;
        if (principal === undefined) return clientAddressSubject(this.clientAddress);
        const known = subjects.get(principal);
        if (known !== undefined) return known;
        const made = apiKeySubject(principal.keyId, limitsOfPlan(principal.plan));
        subjects.set(principal, made);
        return made;
      },
    });
  },
  { name: 'subject', dependencies: ['client-address'] },
);
