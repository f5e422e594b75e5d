import fp from 'fastify-plugin';

/**
 * The headers that every response begins with. They forbid storing the response, guessing its type, showing it in a frame
 * and loading anything from it.
 */
export const DEFAULT_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Sets the headers of every response, before anything else can respond. */
export const defaultHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS);
      done();
    });
  },
  { name: 'default-headers' },
);
