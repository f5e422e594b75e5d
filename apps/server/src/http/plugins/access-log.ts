import fp from 'fastify-plugin';
import { logFieldsOf } from '../log-fields.ts';
import { sentStatusOf } from './metrics.ts';

export interface AccessLogOptions {
  /** The level at which each request is logged. */
  readonly level: 'info' | 'debug';
}

/** Longer URLs are cut in the log; the rest is usually the input of a procedure. */
const URL_MAX_LENGTH = 500;
const USER_AGENT_MAX_LENGTH = 200;

/** Logs each request in one line when its response has ended. */
export const accessLog = fp<AccessLogOptions>(
  async (app, { level }) => {
    app.addHook('onRequest', (request, reply, done) => {
      // Read here, because the address is not known any more after the client has left.
      const { method, originalUrl, headers, clientAddress, socket } = request;
      const bytesBefore = socket.bytesWritten;
      reply.whenClosed(() => {
        const fields = {
          ...logFieldsOf(request),
          method,
          url: originalUrl.slice(0, URL_MAX_LENGTH),
          status: sentStatusOf(reply),
          errorCode: request.errorCode,
          durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
          // Includes the headers, and bytes that a client which left has not received.
          bytes: socket.bytesWritten - bytesBefore,
          clientAddress,
          userAgent: headers['user-agent']?.slice(0, USER_AGENT_MAX_LENGTH),
          isCut: reply.raw.writableFinished ? undefined : true,
        };
        request.log[level](fields, 'request completed');
      });
      done();
    });
  },
  { name: 'access-log', dependencies: ['in-flight', 'client-address', 'subject', 'errors'] },
);
