import type { ApiError, ErrorCode } from '@petstore/api';
import fp from 'fastify-plugin';
import { refusalOf } from './errors.ts';

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Refuses the request, because the rest of its body is invalid or does not arrive. If its handler was already called or
     * it already has a response, that response is sent instead, as the last of its connection.
     */
    refuseBody(code: ErrorCode): void;
    bodyRefusal: ApiError | undefined;
    isBodyAwaited: boolean;
  }
}

/** Refuses requests with a broken body, provided that no handler has run. */
export const brokenBodies = fp(
  async (app) => {
    app.decorateReply('bodyRefusal', undefined);
    app.decorateReply('isBodyAwaited', false);
    app.decorateReply('refuseBody', function refuseBody(code) {
      this.bodyRefusal = refusalOf(code);
      if (this.isBodyAwaited) this.send(this.bodyRefusal);
    });

    app.addHook('preParsing', (_request, reply, payload, done) => {
      reply.isBodyAwaited = true;
      done(reply.bodyRefusal, payload);
    });
    app.addHook('preValidation', (_request, reply, done) => {
      reply.isBodyAwaited = false;
      done();
    });
    app.addHook('onSend', (_request, reply, _payload, done) => {
      reply.isBodyAwaited = false;
      if (reply.bodyRefusal !== undefined) reply.header('connection', 'close');
      done();
    });
  },
  { name: 'broken-bodies' },
);
