import type { Socket } from 'node:net';
import { type ErrorCode, errorResponse } from '@petstore/api';
import { rateLimitHeaders } from '@petstore/rate-limit';
import type { ConnectionError, FastifyInstance } from 'fastify';
import type { AppOptions } from './app-options.ts';
import { addressSubject } from './client-network.ts';
import { STATUS_CODES } from './node-http.ts';
import { DEFAULT_HEADERS } from './plugins/default-headers.ts';

type RefusedRequestsOptions = Pick<AppOptions, 'limiter' | 'metrics' | 'decisions' | 'newRequestId'> & {
  readonly accessLogLevel: 'info' | 'debug';
};

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  [REQUEST_TIMEOUT]: 'request_timeout',
};

/** How long reading continues on a connection after its last response: a reset could otherwise destroy the response. */
const LINGER_MS = 1_000;

/**
 * Makes Fastify's `clientErrorHandler`. It responds to data that never becomes a request, because the HTTP parser refuses
 * it or it does not arrive in time, with the Error object and the rate-limit headers of the peer's address.
 */
export function createClientErrorHandler(options: RefusedRequestsOptions) {
  const { limiter, metrics, decisions, newRequestId, accessLogLevel } = options;
  /** The parser reports an error again with every chunk. */
  const refused = new WeakSet<Socket>();

  async function respond(app: FastifyInstance, socket: Socket, code: ErrorCode): Promise<void> {
    const { status, body } = errorResponse(code);
    const { remoteAddress: clientAddress = '' } = socket;
    const decision = await limiter.check(addressSubject(clientAddress), 1);
    decisions.countDecision('address', decision);
    metrics.observeRequest('unknown', status, 0);
    metrics.countError(code);
    const requestId = newRequestId();
    app.log[accessLogLevel]({ requestId, clientAddress, status, errorCode: code }, 'request completed');
    const headers = {
      date: new Date().toUTCString(),
      ...DEFAULT_HEADERS,
      'x-request-id': requestId,
      ...rateLimitHeaders(decision),
      'content-type': 'application/json',
      'content-length': body.length,
      connection: 'close',
    };
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    if (!socket.writable) return;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  return function onClientError(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
    // On a connection without a byte, nothing was requested. A browser that keeps the connection ready would take a 408 for
    // the response to a later request.
    if (error.code === 'ECONNRESET' || socket.destroyed || socket.bytesRead === 0) return void socket.destroy();
    if (refused.has(socket)) return;
    refused.add(socket);
    const code = CODES[error.code] ?? 'invalid_request';
    const reply = this.lastReplyOn(socket);
    const isComplete = reply === undefined || reply.request.raw.complete;
    if (reply === undefined || (isComplete && reply.raw.closed)) {
      respond(this, socket, code).catch(() => socket.destroy());
    } else {
      // The previous request has or will have its response, and this connection carries no second one.
      reply.whenClosed(() => socket.destroySoon());
      if (!isComplete) reply.refuseBody(code);
    }
  };
}
