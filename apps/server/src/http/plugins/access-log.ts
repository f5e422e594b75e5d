import fp from 'fastify-plugin';
import { logFieldsOf } from '../log-fields.ts';
import { sentStatusOf } from './metrics.ts';

export interface AccessLogOptions {
  /** At which level each request is a line. */
  readonly level: 'info' | 'debug';
}

/** Of a URL no more is logged; the rest is most often the input of a procedure. */
const URL_MAX_LENGTH = 500;
const USER_AGENT_MAX_LENGTH = 200;

/** Writes one line for each request when its response has ended. */
export const accessLog = fp<AccessLogOptions>(
  async (app, { level }) => {
    app.addHook('onRequest', (request, reply, done) => {
      // Read now: once the client has left, its address is no longer known.
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
          // With its headers. What a client that left has not taken counts as well.
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
