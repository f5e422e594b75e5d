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
    /** Why it was refused or failed; in a batch, the first of its failures. */
    errorCode: ErrorCode | undefined;
    /** Counts a failure that the response reports, and logs what concerns an operator: failures of ours. */
    reportError(error: unknown): ApiError;
  }
}

/** What the HTTP layer refuses by. Made once: what they say is fixed, and to record a stack for each would cost much more. */
const REFUSALS = new Map<string, ApiError>();
for (const code of Object.keys(ERROR_CATALOGUE)) REFUSALS.set(code, new ApiError(code as ErrorCode)); // its own keys

/** The error to throw, or to give to `done`, in a hook that refuses a request. */
export const refusalOf = (code: ErrorCode): ApiError => REFUSALS.get(code) ?? new ApiError(code);

/** What Fastify itself refuses. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
};

/** Responds to everything that is thrown with the documented Error object. */
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
    app.setNotFoundHandler(refuseUnknownPath);
  },
  { name: 'errors', dependencies: ['subject'] },
);

/** @param format makes the body of the response, JSON */
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
    // The limiter announces its waits. Without one the caller has too much in flight, which may change at any moment.
    if (status === 429 && !reply.hasHeader('retry-after')) reply.header('retry-after', 1);
    sendJson(reply.code(status), body);
  };
}

/** For `setNotFoundHandler`. */
export function refuseUnknownPath(request: FastifyRequest): never {
  assertUrlIsDecodable(request);
  throw refusalOf('route_not_found');
}

/** Logs what concerns an operator, if the error does. */
export function logFailure(request: FastifyRequest, error: unknown): void {
  const failure = failureOf(error);
  if (failure === undefined) return;
  const { severity, cause } = failure;
  // While storage is away every request says the same: a reason will do, and a stack would flood the log.
  const what = cause instanceof StorageUnavailableError ? { reason: cause.message } : { err: cause };
  request.log[severity]({ ...what, ...logFieldsOf(request) }, 'request failed');
}

function refusalByFastify(error: unknown, { is404 }: FastifyRequest): ApiError | undefined {
  const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined;
  if (code === undefined) return undefined;
  return refusalOf(is404 ? 'route_not_found' : code); // the path is judged before the body
}
