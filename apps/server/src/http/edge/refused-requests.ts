import type { Socket } from 'node:net';
import { type ErrorCode, errorResponse } from '@petstore/api';
import { clientAddressSubject, type RateLimiter, writeRateLimitHeaders } from '@petstore/rate-limit';
import type { AccessLog } from '../access-log.ts';
import type { DecisionMetrics, RequestMetrics } from '../app-options.ts';
import { STATUS_CODES } from '../node-http.ts';
import { refuseBody } from '../request-body.ts';
import { JSON_TYPE, startHeaders } from '../response-headers.ts';
import { closeGently } from './close-gently.ts';
import { afterWaiting, isHeldBack, lastResponseOn } from './connections.ts';

/** Whether what came on a connection was refused by the HTTP parser: nothing after it can be understood. */
const IS_REFUSED = Symbol('isRefused');

declare module 'node:net' {
  interface Socket {
    [IS_REFUSED]?: true;
  }
}

export interface RefusedRequestsOptions {
  readonly limiter: RateLimiter;
  readonly metrics: RequestMetrics;
  readonly decisions: DecisionMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly newRequestId: () => string;
}

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** What Node's HTTP server reports where what was sent did not become a request. */
type ClientError = Error & { readonly code?: string };

/**
 * Responds to what never becomes a request, because the HTTP parser refuses it or it does not come in time, with the Error
 * object, under the headers of the address that the connection comes from.
 */
export function createRefusedRequests(options: RefusedRequestsOptions) {
  const { limiter, metrics, decisions, accessLog, newRequestId } = options;

  async function refuse(socket: Socket, code: ErrorCode, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const { status, body } = errorResponse(code);
    const requestId = newRequestId();
    const headers = startHeaders(requestId);
    const { remoteAddress: clientAddress = '' } = socket;
    const decision = await limiter.check(clientAddressSubject(clientAddress), 1);
    decisions.countDecision('address', decision);
    writeRateLimitHeaders(headers, decision);
    Object.assign(headers, more, { 'content-type': JSON_TYPE, 'content-length': body.length, connection: 'close' });
    metrics.observeRequest('unknown', status, 0);
    metrics.countError(code);
    accessLog?.refused({ requestId, clientAddress, status, errorCode: code });
    if (!socket.writable) return;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    socket.write(`${head}\r\n${body}`);
    closeGently(socket);
  }

  function refuseOrCut(socket: Socket, code: ErrorCode, more?: Readonly<Record<string, string>>): void {
    refuse(socket, code, more).catch(() => socket.destroy());
  }

  /** For the server's `clientError`. */
  function onClientError(error: ClientError, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    // The delay is the server's own; a request that then stalls is cut after the connection's idle timeout.
    if (error.code === REQUEST_TIMEOUT && isHeldBack(socket)) return;
    // The parser reports again with every chunk.
    if (socket[IS_REFUSED] === true) return;
    socket[IS_REFUSED] = true;
    // Nothing was requested on this connection: a browser that kept it ready would take a 408 for a later response.
    if (socket.bytesRead === 0) return void socket.destroy();
    const code = codeOf(error);
    // Responses come in the order of their requests, so that this one has to wait.
    if (afterWaiting(socket, () => refuseOrCut(socket, code))) return;
    const response = lastResponseOn(socket);
    if (response === undefined || response.writableFinished) {
      // A request whose response was sent before its body had come needs no second one.
      if (response?.req.complete === false) closeGently(socket);
      else refuseOrCut(socket, code);
      return;
    }
    if (response.req.complete) return void response.once('close', () => refuseOrCut(socket, code));
    response.once('finish', () => closeGently(socket));
    response.shouldKeepAlive = false;
    refuseBody(response.req, code);
  }

  /** For the server's `connect`: this is no proxy, and CONNECT no method of any path. */
  function onConnect({ socket }: { readonly socket: Socket }): void {
    // From here on the connection is ours alone, and so are its errors.
    socket.on('error', () => socket.destroy());
    const respond = () => refuseOrCut(socket, 'method_not_allowed', { allow: 'GET, HEAD, POST, DELETE, OPTIONS' });
    if (afterWaiting(socket, respond)) return;
    const response = lastResponseOn(socket);
    if (response === undefined || response.writableFinished) respond();
    else response.once('close', respond);
  }

  return { onClientError, onConnect };
}

function codeOf({ code }: ClientError): ErrorCode {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large';
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 'payload_too_large';
    case REQUEST_TIMEOUT:
      return 'request_timeout';
    default:
      return 'invalid_request';
  }
}
