import { type ApiKeyPrincipal, apiKeySubject } from '@petstore/domain';
import type { Subject } from '@petstore/rate-limit';
import fp from 'fastify-plugin';
import { addressSubject } from '../client-network.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the key, once it is known. The authentication sets it. */
    principal: ApiKeyPrincipal | undefined;
    /** The subject for which the request counts: its key if the key is known, otherwise its address. */
    readonly subject: Subject;
  }
}

/** Provides the subject for which each request counts. */
export const subject = fp(
  async (app) => {
    /** One subject for each principal that the authenticator caches. A key whose plan changes gets another principal. */
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
