import type { IncomingHttpHeaders } from 'node:http';
import { trace } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { hideCredentials } from '../operations/hide-credentials.ts';
import type { HttpMetrics } from '../operations/metrics.ts';
import { clientAddressOf } from './address.ts';
import type { AppOptions } from './app-options.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's name in metrics and logs, never text from a caller. A function if the route serves several operations. */
    readonly operation?: string | ((request: FastifyRequest) => string);
    /** The deprecated operations of the path that is requested: over tRPC one for each call in a batch. */
    readonly deprecated?: (request: FastifyRequest) => readonly DeprecatedOperation[];
  }
}

export interface DeprecatedOperation {
  /** Its name in metrics. */
  readonly operation: string;
  /** The methods of the operation. */
  readonly methods: ReadonlySet<string>;
  /** The headers that announce it, on whatever response. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The fields of a request in the log, in addition to the ids in Fastify's logger of the request. */
export const logFieldsOf = (request: FastifyRequest) => ({
  keyId: request.admission?.principal?.keyId,
  operation: operationOf(request),
});

function operationOf(request: FastifyRequest): string {
  const { operation = 'unknown' } = request.routeOptions.config;
  return typeof operation === 'string' ? operation : operation(request);
}

/** The trace that the caller's header says the request belongs to (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/**
 * @returns the trace id, 32 hexadecimal digits: that of the span which records the present request or, without a span,
 *   that of a valid header from the caller
 */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  const span = trace.getActiveSpan();
  if (span !== undefined) return span.spanContext().traceId;
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}

/**
 * Calls back once the response has been sent or its client has left, for which Fastify does not call `onResponse`. Calls
 * back at once if either has happened already. Errors that the callback throws are logged: nobody could catch them.
 */
export function whenClosed(reply: FastifyReply, callback: () => void): void {
  const { raw } = reply;
  const run = () => {
    try {
      callback();
    } catch (err) {
      reply.log.error({ err }, 'a callback at the end of a response failed');
    }
  };
  if (raw.closed) return void run();
  raw.setMaxListeners(0); // a batch may hold many lists, each of which has something to release
  raw.once('close', run);
}

type ObserveOptions = Pick<AppOptions, 'metrics' | 'logger' | 'accessLogLevel'>;

/** What follows each response: metrics, the access log, the span of a trace, and the use of deprecated operations. */
export const observe = fp<ObserveOptions>(
  async (app, { metrics, logger, accessLogLevel }) => {
    const isLogged = logger.isLevelEnabled(accessLogLevel);
    app.addHook('onRequest', (request, reply, done) => {
      describeSpan(request, reply);
      announceDeprecation(request, reply, metrics);
      if (isLogged) logWhenClosed(request, reply, accessLogLevel);
      whenClosed(reply, () => {
        if (!excluded.has(reply))
          metrics.observeRequest(operationOf(request), sentStatusOf(reply), reply.elapsedTime / 1_000);
      });
      done();
    });
  },
  { name: 'observe' },
);

const excluded = new WeakSet<FastifyReply>();

/** Keeps a request out of the durations of requests: it waits for something that is no work of the service. */
export const excludeFromDurations = (reply: FastifyReply): void => void excluded.add(reply);

/** The status in metrics and logs if none was sent; proxies use the same number. */
const CLIENT_GONE = 499;

/** The status that was sent to the client. */
const sentStatusOf = ({ raw }: FastifyReply): number => (raw.headersSent ? raw.statusCode : CLIENT_GONE);

/** Announces deprecations in every response of their paths, including errors, and counts who still uses them. */
function announceDeprecation(request: FastifyRequest, reply: FastifyReply, metrics: HttpMetrics): void {
  const deprecated = request.routeOptions.config.deprecated?.(request) ?? [];
  if (deprecated.length === 0) return;
  for (const { headers } of new Set(deprecated)) reply.headers(headers);
  const called = deprecated.filter(({ methods }) => methods.has(request.method));
  if (called.length === 0) return;
  whenClosed(reply, () => {
    for (const { operation } of called) metrics.observeDeprecatedUse(operation, request.admission?.principal?.keyId);
  });
}

/** Longer URLs are cut in the log; the rest is usually the input of a procedure. */
const URL_MAX_LENGTH = 500;
const USER_AGENT_MAX_LENGTH = 200;

/** What is left of a credential that is cut could not be recognized, so credentials are masked before. */
const cut = (text: string | undefined, maxLength: number): string | undefined =>
  text === undefined || text.length <= maxLength ? text : hideCredentials(text).slice(0, maxLength);

/** Logs a request in one line when its response has ended. */
function logWhenClosed(request: FastifyRequest, reply: FastifyReply, level: 'info' | 'debug'): void {
  // Read here, because the address is not known any more after the client has left.
  const clientAddress = clientAddressOf(request);
  const { method, originalUrl, headers, socket } = request;
  const bytesBefore = socket.bytesWritten;
  whenClosed(reply, () => {
    const fields = {
      ...logFieldsOf(request),
      method,
      url: cut(originalUrl, URL_MAX_LENGTH),
      status: sentStatusOf(reply),
      errorCode: request.errorCode,
      durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
      // Includes the headers, and bytes that a client which left has not received.
      bytes: socket.bytesWritten - bytesBefore,
      clientAddress,
      userAgent: cut(headers['user-agent'], USER_AGENT_MAX_LENGTH),
      isCut: reply.raw.writableFinished ? undefined : true,
    };
    request.log[level](fields, 'request completed');
  });
}

/**
 * Describes the span that OpenTelemetry records for a request: its route, and the ids of the request and its key. Does
 * nothing if no span is recorded.
 */
function describeSpan(request: FastifyRequest, reply: FastifyReply): void {
  const span = trace.getActiveSpan();
  if (span === undefined) return;
  const { method, routeOptions } = request;
  span.setAttribute('client.address', clientAddressOf(request));
  if (routeOptions.url !== undefined) {
    span.updateName(`${method} ${routeOptions.url}`).setAttribute('http.route', routeOptions.url);
  }
  // This listener must run before OpenTelemetry's own, which ends the span.
  reply.raw.prependOnceListener('close', () => {
    const { id, admission, errorCode } = request;
    span.setAttributes({
      'petstore.request_id': id,
      'petstore.operation': operationOf(request),
      ...(admission?.principal !== undefined && { 'petstore.api_key_id': admission.principal.keyId }),
      ...(errorCode !== undefined && { 'petstore.error_code': errorCode }),
    });
  });
}
