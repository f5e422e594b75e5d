import {
  ApiError,
  ERROR_CATALOGUE,
  type ErrorCode,
  type ErrorResponse,
  failureOf,
  toApiError,
  toErrorResponse,
} from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { RequestMetrics } from '../app-options.ts';
import { logFieldsOf } from '../log-fields.ts';
import { assertUrlIsDecodable } from '../malformed-requests.ts';
import { sendJson } from '../send-json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused or failed; in a batch, the code of its first failure. */
    errorCode: ErrorCode | undefined;
    /** Counts a failure that the response reports, and logs it if it is a fault of the service. */
    reportError(error: unknown): ApiError;
  }
}

/** The refusals of the HTTP layer. They are made once: their texts are fixed, and recording a stack each time costs much. */
const REFUSALS = new Map<string, ApiError>();
for (const code of Object.keys(ERROR_CATALOGUE)) REFUSALS.set(code, new ApiError(code as ErrorCode)); // its own keys

/** The error with which a hook refuses a request: the hook throws it or passes it to `done`. */
export const refusalOf = (code: ErrorCode): ApiError => REFUSALS.get(code) ?? new ApiError(code);

/** The codes for Fastify's own refusals. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
};

/** Responds to every error that is thrown with the documented Error object. */
export const errors = fp<{ readonly metrics: RequestMetrics }>(
  async (app, { metrics }) => {
    app.decorateRequest('errorCode', undefined);
    app.decorateRequest('reportError', function reportError(this: FastifyRequest, error) {
      const apiError = toApiError(error);
      this.errorCode ??= apiError.errorCode;
      metrics.countError(apiError.errorCode);
      logFailure(this, apiError);
      return apiError;
    });
    app.setErrorHandler(errorHandler(({ body }) => body));
  },
  { name: 'errors', dependencies: ['subject'] },
);

/** @param format makes the JSON body of the response */
export function errorHandler(format: (response: ErrorResponse, error: ApiError) => string) {
  const respond = (error: ApiError) => {
    const response = toErrorResponse(error);
    return { ...response, body: format(response, error) };
  };
  const refusals = new Map(Array.from(REFUSALS.values(), (error) => [error, respond(error)]));
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const apiError = request.reportError(refusalByFastify(error, request) ?? error);
    const { status, headers, body } = refusals.get(apiError) ?? respond(apiError);
    for (const name in headers) if (!reply.hasHeader(name)) reply.header(name, headers[name]);
    // The limiter sets the waits it demands. Without one, the caller has too much in flight, which may change at any moment.
    if (status === 429 && !reply.hasHeader('retry-after')) reply.header('retry-after', 1);
    sendJson(reply.code(status), body);
  };
}

/** For `setNotFoundHandler`. */
export function refuseUnknownPath(request: FastifyRequest): never {
  assertUrlIsDecodable(request);
  throw refusalOf('route_not_found');
}

/** Logs an error if it concerns an operator. */
export function logFailure(request: FastifyRequest, error: unknown): void {
  const failure = failureOf(error);
  if (failure === undefined) return;
  const { severity, cause } = failure;
  // While storage is away, every request fails for the same reason: stacks would only flood the log.
  const what = cause instanceof StorageUnavailableError ? { reason: cause.message } : { err: cause };
  request.log[severity]({ ...what, ...logFieldsOf(request) }, 'request failed');
}

function refusalByFastify(error: unknown, { is404 }: FastifyRequest): ApiError | undefined {
  const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined;
  if (code === undefined) return undefined;
  return refusalOf(is404 ? 'route_not_found' : code); // the path is checked before the body
}
