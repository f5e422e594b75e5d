import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** The replies whose responses have not ended yet, including subscriptions. */
    readonly inFlight: ReadonlySet<FastifyReply>;
    /** The reply to the last request of a connection. */
    lastReplyOn(socket: Socket): FastifyReply | undefined;
  }
  interface FastifyReply {
    /**
     * Calls back once the response has been sent or its client has left, for which Fastify does not call `onResponse`. Calls
     * back at once if either has happened already. Errors that a callback throws are logged.
     */
    whenClosed(callback: () => void): void;
    closeCallbacks: (() => void)[];
  }
}

/** Keeps track of the replies in flight. */
export const inFlight = fp(
  async (app) => {
    const replies = new Set<FastifyReply>();
    const lastReplies = new WeakMap<Socket, FastifyReply>();
    app.decorate('inFlight', replies);
    app.decorate('lastReplyOn', (socket: Socket) => lastReplies.get(socket));
    app.decorateReply('closeCallbacks');
    app.decorateReply('whenClosed', function whenClosed(this: FastifyReply, callback) {
      if (this.raw.closed) run(callback, this);
      else this.closeCallbacks.push(callback);
    });

    app.addHook('onRequest', (request, reply, done) => {
      replies.add(reply);
      lastReplies.set(request.raw.socket, reply);
      reply.closeCallbacks = [];
      reply.raw.once('close', () => {
        replies.delete(reply);
        for (const callback of reply.closeCallbacks) run(callback, reply);
      });
      done();
    });
  },
  { name: 'in-flight' },
);

/** Nobody could catch an error that is thrown here, and the other callbacks must still run. */
function run(callback: () => void, { log }: FastifyReply): void {
  try {
    callback();
  } catch (err) {
    log.error({ err }, 'what follows the end of a response failed');
  }
}
