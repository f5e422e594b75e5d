import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyInstance {
    /** The replies whose responses have not ended yet, subscriptions included. */
    readonly inFlight: ReadonlySet<FastifyReply>;
    /** The reply to the last request of a connection. */
    lastReplyOn(socket: Socket): FastifyReply | undefined;
  }
  interface FastifyReply {
    /**
     * Calls back once the response has been sent, or its client has left: Fastify's `onResponse` is not called for the
     * latter. Calls back at once if that has happened already. What a callback throws is logged.
     */
    whenClosed(callback: () => void): void;
    closeCallbacks: (() => void)[];
  }
}

/** Keeps account of the replies that are in flight. */
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

/** Nobody could catch what is thrown here, and the other callbacks must run all the same. */
function run(callback: () => void, { log }: FastifyReply): void {
  try {
    callback();
  } catch (err) {
    log.error({ err }, 'what follows the end of a response failed');
  }
}
