import { setTimeout as sleep } from 'node:timers/promises';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on each response is the last of its connection. */
    beginClosing(): void;
  }
}

export interface ClosingOptions {
  /** How long requests that clients have already sent are still accepted, in milliseconds. */
  readonly graceMs: number;
}

/** Makes `app.close()` respond to requests that clients have already sent before it closes the port. */
export const closing = fp<ClosingOptions>(
  async (app, { graceMs }) => {
    let isClosing = false;
    app.decorate('beginClosing', () => {
      isClosing = true;
    });

    app.addHook('onSend', (request, reply, _payload, done) => {
      // A client may pipeline requests. Only its last request ends the connection; with Fastify alone, each of them would.
      const isLast = app.lastReplyOn(request.raw.socket) === reply;
      if (isClosing) reply.header('connection', isLast ? 'close' : 'keep-alive');
      done();
    });

    app.addHook('preClose', async () => {
      app.beginClosing();
      await sleep(graceMs);
      // A connection becomes idle only later if its last response began earlier and announced that it stays open.
      const timer = setInterval(() => app.server.closeIdleConnections(), graceMs).unref();
      app.server.once('close', () => clearInterval(timer));
    });
  },
  { name: 'closing', dependencies: ['in-flight'] },
);
