import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';
import type { RequestMetrics } from '../app-options.ts';
import { operationOf } from '../log-fields.ts';

declare module 'fastify' {
  interface FastifyReply {
    isCounted: boolean;
    /** Counts the request as served before its response ends: the reader decides when a subscription ends. */
    countServed(): void;
  }
}

/** The status in metrics and logs if none was sent; proxies use the same number. */
const CLIENT_GONE = 499;

/** The status that was sent to the client. */
export const sentStatusOf = ({ raw }: FastifyReply): number => (raw.headersSent ? raw.statusCode : CLIENT_GONE);

/** Counts each request after its response was sent or its client has left. */
export const metrics = fp<{ readonly metrics: RequestMetrics }>(
  async (app, { metrics }) => {
    function count(reply: FastifyReply, status: number): void {
      reply.isCounted = true;
      metrics.observeRequest(operationOf(reply.request), status, reply.elapsedTime / 1_000);
    }
    app.decorateReply('isCounted', false);
    app.decorateReply('countServed', function countServed(this: FastifyReply) {
      count(this, this.statusCode);
    });

    app.addHook('onRequest', (_request, reply, done) => {
      reply.whenClosed(() => {
        if (!reply.isCounted) count(reply, sentStatusOf(reply));
      });
      done();
    });
  },
  { name: 'metrics', dependencies: ['in-flight'] },
);
