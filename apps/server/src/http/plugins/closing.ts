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
export const closing = fp<ClosingOptions>(async (app, { graceMs }) => {
  let isClosing = false;
  app.decorate('beginClosing', () => {
    isClosing = true;
    for (const reply of app.inFlight) if (!reply.raw.headersSent) reply.header('connection', 'close');
  });

  app.addHook('onRequest', (_request, reply, done) => {
    if (isClosing) reply.header('connection', 'close');
    done();
  });

  app.addHook('preClose', async () => {
    app.beginClosing();
    await sleep(graceMs);
    // A connection whose last response had begun earlier, and announced that it stays open, becomes idle only later.
    const timer = setInterval(() => app.server.closeIdleConnections(), graceMs).unref();
    app.server.once('close', () => clearInterval(timer));
  });
});
