import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '@petstore/api';
import type { Logger } from 'pino';
import type { CompletedRequest } from './app-options.ts';
import type { ClientAddress } from './edge/client-address.ts';

export interface AccessLogOptions {
  readonly logger: Logger;
  /** At which level each request is a line. */
  readonly level: 'info' | 'debug';
  readonly clientAddress: ClientAddress;
}

/** What never became a request, because the HTTP parser refused it. */
export interface RefusedRequest {
  readonly requestId: string;
  readonly clientAddress: string;
  readonly status: number;
  readonly errorCode: ErrorCode;
}

/** Of a URL no more is logged; the rest is most often the input of a procedure. */
const URL_MAX_LENGTH = 500;
const USER_AGENT_MAX_LENGTH = 200;

/** One line for each request, written when its response has ended. */
export class AccessLog {
  readonly #log: (fields: object) => void;
  readonly #clientAddress: ClientAddress;
  /** What is no longer known of a connection once its client has left. */
  readonly #begun = new WeakMap<IncomingMessage, { readonly bytesBefore: number; readonly clientAddress: string }>();

  constructor({ logger, level, clientAddress }: AccessLogOptions) {
    this.#log = (fields) => logger[level](fields, 'request completed');
    this.#clientAddress = clientAddress;
  }

  begin(request: IncomingMessage): void {
    const clientAddress = this.#clientAddress(request);
    this.#begun.set(request, { bytesBefore: request.socket.bytesWritten, clientAddress });
  }

  end({ request, response, errorCode, logFields }: CompletedRequest, status: number, durationMs: number): void {
    const { method, url = '', headers, socket } = request;
    const { bytesBefore = 0, clientAddress } = this.#begun.get(request) ?? {};
    this.#log({
      ...logFields,
      method,
      url: url.slice(0, URL_MAX_LENGTH),
      status,
      errorCode,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      // With its headers. What a client that left has not taken counts as well.
      bytes: socket.bytesWritten - bytesBefore,
      clientAddress,
      userAgent: headers['user-agent']?.slice(0, USER_AGENT_MAX_LENGTH),
      isCut: response.destroyed && !response.writableFinished ? true : undefined,
    });
  }

  refused(request: RefusedRequest): void {
    this.#log(request);
  }
}
