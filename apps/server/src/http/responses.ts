import {
  type ApiError,
  ERROR_CATALOGUE,
  type ErrorCode,
  type ErrorResponse,
  failureOf,
  refusalOf,
  toApiError,
  toErrorResponse,
} from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { HttpMetrics } from '../operations/metrics.ts';
import type { AppOptions } from './app-options.ts';
import { logFieldsOf, whenClosed } from './observe.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused or failed; in a batch, the code of its first failure. */
    errorCode: ErrorCode | undefined;
  }
}

/**
 * The headers that every response begins with. They forbid storing the response, guessing its type, showing it in a frame
 * and loading anything from it.
 */
export const DEFAULT_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** The codes for Fastify's own refusals. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
};

/** The Link (RFC 8288) from each error to its page. @param siteUrl of {@link AppOptions} */
export const helpLinksOf = (siteUrl: string): Readonly<Record<ErrorCode, string>> =>
  Object.fromEntries(
    Object.keys(ERROR_CATALOGUE).map((code) => [code, `<${siteUrl}/docs/errors/${code}>; rel="help"`]),
  ) as Record<ErrorCode, string>; // all of them

/** Begins every response with its headers, and responds to every error that is thrown with the documented Error object. */
export const responses = fp<Pick<AppOptions, 'metrics' | 'siteUrl'>>(
  async (app, { metrics, siteUrl }) => {
    const helpLinks = helpLinksOf(siteUrl);
    app.decorateRequest('errorCode', undefined);
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS);
      done();
    });
    app.setErrorHandler(
      errorHandler(metrics, (response) => ({
        ...response,
        headers: { ...response.headers, link: helpLinks[response.code] },
      })),
    );
  },
  { name: 'responses' },
);

/** @param format gives the response what differs between REST and tRPC */
export function errorHandler(
  metrics: HttpMetrics,
  format: (response: ErrorResponse, error: ApiError) => ErrorResponse,
) {
  const respond = (error: ApiError) => format(toErrorResponse(error), error);
  const prepared = new WeakMap<ApiError, ErrorResponse>();
  const respondOnce = (error: ApiError): ErrorResponse => {
    const known = prepared.get(error);
    if (known !== undefined) return known;
    const response = respond(error);
    if (Object.isFrozen(error)) prepared.set(error, response); // it is a refusal that was made once
    return response;
  };
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const apiError = reportError(request, refusalByFastify(error, request) ?? error, metrics);
    const { status, headers, body } = respondOnce(apiError);
    for (const name in headers) {
      const before = reply.getHeader(name);
      if (before === undefined) reply.header(name, headers[name]);
      // A deprecated operation has links of its own.
      else if (name === 'link') reply.header(name, `${before}, ${headers[name]}`);
    }
    sendJson(reply.code(status), body);
  };
}

/**
 * Counts a failure that a response reports, and logs it if it is a fault of the service. To a caller who has left nothing is
 * reported, so nothing is counted.
 */
export function reportError(request: FastifyRequest, error: unknown, metrics: HttpMetrics): ApiError {
  const apiError = toApiError(error);
  if (request.raw.socket.destroyed) {
    if (!isOfLeaving(apiError)) logFailure(request, apiError);
    return apiError;
  }
  request.errorCode ??= apiError.errorCode;
  metrics.countError(apiError.errorCode);
  logFailure(request, apiError);
  return apiError;
}

/** What is thrown to end work for a caller who has left. It is no failure. */
export class CallerLeftError extends Error {
  override readonly name = 'CallerLeftError';
}

const RESPONSE_CLOSED = new CallerLeftError(); // made once, because each response ends

/** Makes a signal of what a request sets going: aborted when its response has ended, or its caller has left. */
export function signalOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  whenClosed(reply, () => closed.abort(RESPONSE_CLOSED));
  return closed.signal;
}

/** The errors with which streams, and what waits on a signal, end when a connection does. */
const CODES_OF_LEAVING: ReadonlySet<unknown> = new Set([
  'ABORT_ERR',
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
]);

/** Whether an error has no other reason than that its caller has left. */
function isOfLeaving({ cause }: ApiError): boolean {
  if (cause instanceof CallerLeftError) return true;
  if (!(cause instanceof Error)) return false;
  return cause.name === 'AbortError' || ('code' in cause && CODES_OF_LEAVING.has(cause.code));
}

/** Logs an error if it concerns an operator. */
export function logFailure(request: FastifyRequest, error: unknown): void {
  const failure = failureOf(error);
  if (failure === undefined) return;
  const { severity, cause } = failure;
  // While storage is unavailable, every request fails for the same reason: stacks would only flood the log.
  const what = cause instanceof StorageUnavailableError ? { reason: cause.message } : { err: cause };
  request.log[severity]({ ...what, ...logFieldsOf(request) }, 'request failed');
}

function refusalByFastify(error: unknown, { is404 }: FastifyRequest): ApiError | undefined {
  const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined;
  if (code === undefined) return undefined;
  return refusalOf(is404 ? 'route_not_found' : code); // the path is checked before the body
}

/** For `setNotFoundHandler`. */
export function refuseUnknownPath(): never {
  throw refusalOf('route_not_found');
}

/** Adds a name to those of the request headers by which the response varies. */
export function addVary(reply: FastifyReply, name: string | undefined): void {
  if (name === undefined) return;
  const before = reply.getHeader('vary');
  reply.header('vary', before === undefined ? name : `${before}, ${name}`);
}

const unchanged = (payload: unknown) => payload as string; // see below

/** Responds with JSON that is already a text. Fastify would add a charset to its type, which JSON does not have. */
export const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  reply.header('content-type', 'application/json').serializer(unchanged).send(text);
