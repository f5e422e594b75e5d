import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type ApiError,
  type ErrorCode,
  type ErrorResponse,
  errorResponse,
  failureOf,
  toApiError,
  toErrorResponse,
  toTrpcEnvelope,
} from '@petstore/api';
import { type ApiKeyId, longListsOfPlan, type Principal, StorageUnavailableError } from '@petstore/domain';
import type { RateLimitSnapshot } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import { type ResponseHeaders, startHeaders } from './answer-headers.ts';
import type { RequestMetrics } from './app-options.ts';
import { closeGentlyAfterAnswer, setLastExchange } from './connection.ts';
import type { CorsPolicy } from './cors.ts';
import type { LoadShedder } from './load-shedder.ts';
import { mayBeFollowed } from './pipelining.ts';
import { isDropped } from './request-body.ts';
import { chooseRequestId } from './request-id.ts';
import type { Deprecation, RouteInfo } from './route-info.ts';
import { PacedWriter, type ReaderBounds } from './slow-reader.ts';
import { Holding, type UnderWay } from './under-way.ts';

/** What all exchanges of a listener share. */
export interface ExchangeHost {
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  readonly cors: CorsPolicy;
  readonly load: LoadShedder;
  /** Long lists under way, by key. */
  readonly longLists: UnderWay;
  readonly readerBounds: ReaderBounds;
  readonly newRequestId: () => string;
}

export const JSON_TYPE = 'application/json';

/** What metrics and logs say where no status was sent, as is the custom of proxies. */
const CLIENT_GONE = 499;

/** Up to this size a body and its headers go out as one text, in one system call. */
const ONE_WRITE_MAX_BYTES = 16_384;

/**
 * One request and its answer. Whatever layer decides on the answer, it is written here, straight to Node's response: in
 * one piece where it is small, with all headers at once, and only one time.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly place: RouteInfo;
  readonly requestId: string;
  /** Written with the answer. */
  readonly headers: ResponseHeaders;
  /** See {@link RouteInfo.operation}; narrower where one place serves several. */
  operation: string;
  /** See {@link RouteInfo.allow}. */
  allow: string;
  /** On whose behalf the request is, once that is known. */
  principal: Principal | undefined;
  /** Why the rest of the request's body cannot be understood or does not come. */
  bodyRefusal: ErrorCode | undefined;
  /** Where its caller stood when it was let in, if that was looked at. */
  standing: RateLimitSnapshot | undefined;
  /** What its caller has under way by it; given back with the answer. */
  readonly holding = new Holding();
  /** Called when {@link bodyRefusal} is known. */
  onBodyRefused: ((code: ErrorCode) => void) | undefined;
  readonly #host: ExchangeHost;
  readonly #startedAtMs: number;
  #isBodyRead = false;
  #streams = 0;
  #isOver = false;

  constructor(host: ExchangeHost, request: IncomingMessage, response: ServerResponse, place: RouteInfo) {
    this.#host = host;
    this.#startedAtMs = performance.now();
    this.request = request;
    this.response = response;
    this.place = place;
    this.operation = place.operation;
    this.allow = place.allow;
    this.requestId = chooseRequestId(request, host.newRequestId);
    this.headers = startHeaders(this.requestId);
    host.cors.addHeaders(this.headers, request);
    if (place.deprecation !== undefined) Object.assign(this.headers, place.deprecation.headers);
    host.load.begin();
    setLastExchange(request.socket, this);
  }

  /** Whether the answer was given, or nobody is there to read it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the answer goes without its body. */
  get isHead(): boolean {
    return this.request.method === 'HEAD';
  }

  /** Sets a header that another library made; what answers vary by adds up. */
  setHeader(name: string, value: string): void {
    const before = this.headers[name];
    this.headers[name] = name === 'vary' && before !== undefined ? `${before}, ${value}` : value;
  }

  sendText(status: number, contentType: string, text: string): void {
    this.headers['content-type'] = contentType;
    this.headers['content-length'] = Buffer.byteLength(text);
    this.#write(status, text, 'utf8');
  }

  /** @param contentType left out where it is among the headers already */
  sendBytes(status: number, bytes: Uint8Array, contentType?: string): void {
    if (contentType !== undefined) this.headers['content-type'] = contentType;
    this.headers['content-length'] = bytes.byteLength;
    if (bytes.byteLength > ONE_WRITE_MAX_BYTES) this.#write(status, bytes);
    // Byte for byte the same; as a text it is written together with the headers.
    else
      this.#write(status, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'), 'latin1');
  }

  /** Answers to HEAD where the length of the body is not known. */
  sendHead(status: number, contentType: string): void {
    this.headers['content-type'] = contentType;
    this.#write(status);
  }

  /** For 204 and 304, which have no body at all, and for redirections. */
  sendEmpty(status: number): void {
    if (status !== 204 && status !== 304) this.headers['content-length'] = 0;
    this.#write(status);
  }

  /** Answers with an error that the HTTP layer itself decides on. */
  refuse(code: ErrorCode): void {
    if (code === 'method_not_allowed') this.headers['allow'] = this.allow;
    this.#sendError(errorResponse(code), code);
  }

  /** Answers to anything thrown: what the caller may not know is logged whole, and answered blandly. */
  fail(error: unknown): void {
    this.logFailure(error);
    const apiError = toApiError(error);
    this.#sendError(toErrorResponse(apiError), apiError);
  }

  /** Logs what an operator must hear of: failures of ours and of what we lean on. */
  logFailure(error: unknown): void {
    const failure = failureOf(error);
    if (failure === undefined) return;
    const { requestId, operation } = this;
    const { severity, cause } = failure;
    // While storage is away every request says the same: a reason will do, and a stack would flood the log.
    const what = cause instanceof StorageUnavailableError ? { reason: cause.message } : { err: cause };
    this.#host.logger[severity]({ ...what, requestId, operation }, 'request failed');
  }

  /** Answers to a caller who has as much under way as it may. Counts towards no ban. */
  refuseCrowded(): void {
    this.headers['retry-after'] = 1;
    this.refuse('rate_limit_exceeded');
  }

  /** Begins a list that goes beyond its first batch. @returns false where the key has as many under way as it may */
  beginLongList(): boolean {
    const { principal } = this;
    if (this.#isOver || principal?.type !== 'api-key') return false;
    return this.holding.take(this.#host.longLists, principal.keyId, 1, longListsOfPlan(principal.plan));
  }

  /**
   * Begins an answer that is sent in pieces, of which those begun by {@link beginLongList} are the long ones.
   *
   * @returns whether there is somebody to send it to, and room for it; otherwise the answer is already given
   */
  openStream(status: number, contentType: string): boolean {
    if (this.#isOver) return false;
    if (this.response.destroyed) {
      this.#end(status);
      return false;
    }
    const streams = this.holding.count(this.#host.longLists);
    if (!this.#host.load.beginStreams(streams)) {
      this.refuse('overloaded');
      return false;
    }
    this.#streams = streams;
    this.headers['content-type'] = contentType;
    this.#writeHead(status);
    return true;
  }

  /** What an answer begun by {@link openStream} is written by. */
  createWriter(): PacedWriter {
    return new PacedWriter(this.response, this.#host.readerBounds);
  }

  /** Ends an answer that was begun by {@link openStream}. */
  closeStream(): void {
    this.response.end();
    this.#end(this.response.statusCode);
  }

  /** Cuts an answer short, so that nobody takes what was sent of it for the whole. */
  breakStream(error: unknown): void {
    this.logFailure(error);
    this.#cutStream();
  }

  /** Cuts an answer short whose reader takes nothing, or too little. */
  cutSlowReader(): void {
    const { requestId, operation } = this;
    this.#host.logger.info({ requestId, operation, keyId: this.#keyId }, 'an answer was cut: its reader was too slow');
    this.#cutStream();
  }

  #cutStream(): void {
    this.response.destroy();
    this.#end(this.response.statusCode);
  }

  /** Tells whoever reads the request's body, now or later, that no more of it will come. */
  refuseBody(code: ErrorCode): void {
    this.headers['connection'] = 'close';
    this.bodyRefusal = code;
    this.onBodyRefused?.(code);
  }

  /** To be called by whoever reads the request's body. */
  markBodyRead(): void {
    this.#isBodyRead = true;
  }

  /** Called when the connection is gone before the request had come in full: there is nobody to answer. */
  abandon(): void {
    if (!this.#isOver) this.#end(CLIENT_GONE);
  }

  #sendError({ status, headers, body }: ErrorResponse, error: ErrorCode | ApiError): void {
    const own = this.headers;
    // A wait that the limiter has announced is not shortened.
    for (const name in headers) own[name] ??= headers[name];
    this.sendText(status, JSON_TYPE, this.place.errorFormat === 'rest' ? body : toTrpcEnvelope(error));
  }

  #write(status: number, body?: string | Uint8Array, encoding?: BufferEncoding): void {
    if (this.#isOver) return;
    if (!this.response.destroyed) {
      this.#writeHead(status);
      if (body === undefined) this.response.end();
      else if (encoding === undefined) this.response.end(body);
      else this.response.end(body, encoding);
    }
    this.#end(status);
  }

  #writeHead(status: number): void {
    if (!this.#isBodyRead && !this.request.complete && !isDropped(this.request)) {
      this.headers['connection'] = 'close';
      closeGentlyAfterAnswer(this.request.socket);
    }
    if (this.#host.load.isClosing) this.headers['connection'] ??= this.#isLastOfConnection ? 'close' : 'keep-alive';
    this.response.writeHead(status, this.headers);
  }

  /** On a listener that closes: what was sent before is answered, though the connection is to end. */
  get #isLastOfConnection(): boolean {
    return !this.response.shouldKeepAlive || !mayBeFollowed(this.request);
  }

  #end(status: number): void {
    this.#isOver = true;
    const { load, metrics, logger } = this.#host;
    load.endStreams(this.#streams);
    load.end();
    this.holding.release();
    const durationMs = performance.now() - this.#startedAtMs;
    metrics.observeRequest(this.operation, status, durationMs / 1000);
    if (this.place.deprecation !== undefined) this.#countUse(this.place.deprecation);
    if (!logger.isLevelEnabled('debug')) return;
    const { requestId, operation } = this;
    logger.debug({ requestId, operation, status, durationMs, keyId: this.#keyId }, 'request answered');
  }

  get #keyId(): ApiKeyId | undefined {
    return this.principal?.type === 'api-key' ? this.principal.keyId : undefined;
  }

  #countUse({ operation, methods }: Deprecation): void {
    if (methods.has(this.request.method ?? '')) this.#host.metrics.observeDeprecatedUse(operation, this.#keyId);
  }
}
