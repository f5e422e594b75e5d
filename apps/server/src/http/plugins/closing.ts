import { setTimeout as sleep } from 'node:timers/promises';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on each response is the last of its connection. */
    beginClosing(): void;
  }
}

export interface ClosingOptions {
  /** How long requests that clients had already sent are still accepted, in milliseconds. */
  readonly graceMs: number;
}

/** Makes `app.close()` respond to what clients had already sent, before the port is closed. */
export const closing = fp<ClosingOptions>(
  async (app, { graceMs }) => {
    let isClosing = false;
    app.decorate('beginClosing', () => {
      isClosing = true;
    });

    app.addHook('onSend', (request, reply, _payload, done) => {
      // A client may have sent requests ahead. The last one that has come ends the connection; Fastify would have each do it.
      const isLast = app.lastReplyOn(request.raw.socket) === reply;
      if (isClosing) reply.header('connection', isLast ? 'close' : 'keep-alive');
      done();
    });

    app.addHook('preClose', async () => {
      app.beginClosing();
      await sleep(graceMs);
      // A connection whose last response had begun earlier, and announced that it stays open, becomes idle only later.
      const timer = setInterval(() => app.server.closeIdleConnections(), graceMs).unref();
      app.server.once('close', () => clearInterval(timer));
    });
  },
  { name: 'closing', dependencies: ['in-flight'] },
);
