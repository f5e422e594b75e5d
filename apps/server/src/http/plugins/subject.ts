import { type ApiKeyPrincipal, apiKeySubject } from '@petstore/domain';
import type { Subject } from '@petstore/rate-limit';
import fp from 'fastify-plugin';
import { addressSubject } from '../client-network.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key it is, once that is known. Authentication sets it. */
    principal: ApiKeyPrincipal | undefined;
    /** By which it is counted: its key if that is known, else its address. */
    readonly subject: Subject;
  }
}

/** Tells by what each request is counted. */
export const subject = fp(
  async (app) => {
    /** Made once for each principal that the authenticator keeps: a key whose plan changes becomes another. */
    const subjects = new WeakMap<ApiKeyPrincipal, Subject>();
    app.decorateRequest('principal', undefined);
    app.decorateRequest('subject', {
      getter() {
        const { principal } = this;
        if (principal === undefined) return addressSubject(this.clientAddress);
        const known = subjects.get(principal);
        if (known !== undefined) return known;
        const made = apiKeySubject(principal.keyId, principal.plan);
        subjects.set(principal, made);
        return made;
      },
    });
  },
  { name: 'subject', dependencies: ['client-address'] },
);
