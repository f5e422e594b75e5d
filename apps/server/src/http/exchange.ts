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
import { type ApiKeyId, type Principal, StorageUnavailableError } from '@petstore/domain';
import type { BannedDecision, RateLimitSnapshot } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import type { AccessLog } from './access-log.ts';
import type { CutReason, LogFields, RequestMetrics } from './app-options.ts';
import type { ClientAddress } from './edge/client-address.ts';
import { closeGentlyAfterResponse } from './edge/close-gently.ts';
import { mayBeFollowed } from './edge/connections.ts';
import { HeldCounts, type LoadShedder } from './in-flight.ts';
import type { SpanFacts } from './plugins/tracing.ts';
import { isDropped } from './request-body.ts';
import { type CorsPolicy, chooseRequestId, JSON_TYPE, type ResponseHeaders, startHeaders } from './response-headers.ts';
import type { Deprecation, RouteInfo } from './route-info.ts';
import { traceIdOf } from './trace-context.ts';

/** What all exchanges of a listener share. */
export interface ExchangeHost {
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  /** Left out: requests are no lines of the log. */
  readonly accessLog: AccessLog | undefined;
  readonly clientAddress: ClientAddress;
  readonly cors: CorsPolicy;
  readonly load: LoadShedder;
  readonly newRequestId: () => string;
}

/** What metrics and logs say where no status was sent, as is the custom of proxies. */
const CLIENT_GONE = 499;

/** Up to this size a body and its headers are sent as one text, in one system call. */
const ONE_WRITE_MAX_BYTES = 16_384;

/**
 * One request and its response. Whatever layer decides on the response, it is written here, with all headers at once, and
 * only one time; then the request is counted and logged.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: RouteInfo;
  readonly requestId: string;
  /** Written with the response. */
  readonly headers: ResponseHeaders;
  /** See {@link RouteInfo.operation}; narrower where one route serves several. */
  operation: string;
  /** See {@link RouteInfo.allow}. */
  allow: string;
  /** On whose behalf the request is, once that is known. */
  principal: Principal | undefined;
  /** Where its caller stood when it was admitted, if that was looked up. */
  rateLimit: RateLimitSnapshot | undefined;
  /** Why it was refused or failed; in a batch, the first of its failures. */
  errorCode: ErrorCode | undefined;
  /** What the request is counted for while it is in flight. */
  readonly held = new HeldCounts();
  readonly #host: ExchangeHost;
  readonly #startedAtMs: number;
  #isOver = false;
  #isCounted = false;

  constructor(host: ExchangeHost, request: IncomingMessage, response: ServerResponse, route: RouteInfo) {
    this.#host = host;
    this.#startedAtMs = performance.now();
    this.request = request;
    this.response = response;
    this.route = route;
    this.operation = route.operation;
    this.allow = route.allow;
    this.requestId = chooseRequestId(request, host.newRequestId);
    this.headers = startHeaders(this.requestId);
    host.cors.addHeaders(this.headers, request);
    if (route.deprecation !== undefined) Object.assign(this.headers, route.deprecation.headers);
    host.load.begin();
    host.accessLog?.begin(request);
  }

  /** Whether the response was given, or its reader is gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the response is sent without its body. */
  get isHead(): boolean {
    return this.request.method === 'HEAD';
  }

  get keyId(): ApiKeyId | undefined {
    return this.principal?.type === 'api-key' ? this.principal.keyId : undefined;
  }

  /** What each line of the log holds that concerns the request. */
  get logFields(): LogFields {
    const { request, requestId, operation, keyId } = this;
    const traceId = traceIdOf(request.headers);
    return { requestId, traceId, keyId, operation };
  }

  /** What the span of the request holds. */
  get spanFacts(): SpanFacts {
    const { requestId, keyId, operation, errorCode } = this;
    return { requestId, keyId, operation, errorCode };
  }

  /** Sets a header that another library made; `Vary` adds up. */
  setHeader(name: string, value: string): void {
    const before = this.headers[name];
    this.headers[name] = name === 'vary' && before !== undefined ? `${before}, ${value}` : value;
  }

  sendText(status: number, contentType: string, text: string): void {
    this.headers['content-type'] = contentType;
    const byteLength = Buffer.byteLength(text);
    this.headers['content-length'] = byteLength;
    // ASCII is written without being encoded: that saves a thirtieth of a 429.
    this.#send(status, text, byteLength === text.length ? 'latin1' : 'utf8');
  }

  sendBytes(status: number, contentType: string, bytes: Uint8Array): void {
    this.headers['content-type'] = contentType;
    this.headers['content-length'] = bytes.byteLength;
    if (bytes.byteLength > ONE_WRITE_MAX_BYTES) this.#send(status, bytes);
    // Byte for byte the same; as a text it is written together with the headers.
    else this.#send(status, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'), 'latin1');
  }

  /** Responds to HEAD where the length of the body is not known. */
  sendHead(status: number, contentType: string): void {
    this.headers['content-type'] = contentType;
    this.#send(status);
  }

  /** For 204 and 304, which have no body at all, and for redirections. */
  sendEmpty(status: number): void {
    if (status !== 204 && status !== 304) this.headers['content-length'] = 0;
    this.#send(status);
  }

  /** Responds with an error that the HTTP layer itself decides on. */
  refuse(code: ErrorCode): void {
    if (code === 'method_not_allowed') this.headers['allow'] = this.allow;
    this.#sendError(errorResponse(code), code);
  }

  /** Refuses a caller who has as much in flight as it may. Counts towards no ban. */
  refuseCrowded(): void {
    this.headers['retry-after'] = 1;
    this.refuse('rate_limit_exceeded');
  }

  /** Responds to anything thrown: what the caller may not know is logged, and the response does not show it. */
  fail(error: unknown): void {
    this.logFailure(error);
    const apiError = toApiError(error);
    this.#sendError(toErrorResponse(apiError), apiError);
  }

  /** Logs what concerns an operator: failures of ours and of what we depend on. */
  logFailure(error: unknown): void {
    const failure = failureOf(error);
    if (failure === undefined) return;
    const { severity, cause } = failure;
    // While storage is away every request says the same: a reason will do, and a stack would flood the log.
    const what = cause instanceof StorageUnavailableError ? { reason: cause.message } : { err: cause };
    this.#host.logger[severity]({ ...what, ...this.logFields }, 'request failed');
  }

  /** Logs that this request was the one for which its key was banned. */
  logBan({ level, bannedUntilMs }: BannedDecision): void {
    const until = new Date(bannedUntilMs).toISOString();
    this.#host.logger.warn({ ...this.logFields, banLevel: level, until }, 'a key was banned');
  }

  /** Counts a failure that the response reports. */
  countError(code: ErrorCode): void {
    this.errorCode ??= code;
    this.#host.metrics.countError(code);
  }

  /** Begins a response whose body is written by the caller, who ends it by {@link endBody} or {@link cutBody}. */
  beginBody(status: number, contentType: string): void {
    this.headers['content-type'] = contentType;
    this.#writeHead(status);
  }

  /** The same for a body that goes on for as long as its reader wants: the request is counted as served. */
  beginLastingBody(status: number, contentType: string): void {
    this.beginBody(status, contentType);
    this.#count(status);
  }

  endBody(): void {
    this.response.end();
    this.#end(this.response.statusCode);
  }

  /** Ends the connection, so that the part that was sent is not taken for the whole. */
  cutBody(reason: CutReason): void {
    this.#host.metrics.countCut(reason);
    this.response.destroy();
    this.#end(this.response.statusCode);
  }

  /** Called where the client is gone before its request had come in full: no status was sent. */
  abandon(): void {
    if (!this.#isOver) this.#end(CLIENT_GONE);
  }

  #sendError({ status, headers, body, code }: ErrorResponse, error: ErrorCode | ApiError): void {
    if (this.#isOver) return;
    this.countError(code);
    const own = this.headers;
    // A wait that the limiter has announced is not shortened.
    for (const name in headers) own[name] ??= headers[name];
    this.sendText(status, JSON_TYPE, this.route.errorFormat === 'rest' ? body : toTrpcEnvelope(error));
  }

  #send(status: number, body?: string | Uint8Array, encoding?: BufferEncoding): void {
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
    const { request, response } = this;
    if (!request.complete && !isDropped(request)) {
      response.shouldKeepAlive = false;
      closeGentlyAfterResponse(request.socket);
    }
    // On a listener that closes, requests that were sent before are served first.
    if (this.#host.load.isClosing && !mayBeFollowed(request)) response.shouldKeepAlive = false;
    response.writeHead(status, this.headers);
  }

  #end(status: number): void {
    this.#isOver = true;
    this.held.release();
    if (!this.#isCounted) this.#count(status);
    this.#host.accessLog?.end(this, status, performance.now() - this.#startedAtMs);
  }

  #count(status: number): void {
    this.#isCounted = true;
    const { load, metrics } = this.#host;
    load.end();
    metrics.observeRequest(this.operation, status, (performance.now() - this.#startedAtMs) / 1000);
    if (this.route.deprecation !== undefined) this.#countDeprecatedUse(this.route.deprecation);
  }

  #countDeprecatedUse({ operation, methods }: Deprecation): void {
    if (methods.has(this.request.method ?? '')) this.#host.metrics.observeDeprecatedUse(operation, this.keyId);
  }
}
