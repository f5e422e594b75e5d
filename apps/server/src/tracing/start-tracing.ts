import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { pg } from '@petstore/persistence';
import { Redis } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import manifest from '../../package.json' with { type: 'json' };
import { hideCredentials } from '../operations/hide-credentials.ts';

/** How long a shutdown waits until the last spans are sent, in milliseconds. */
const FLUSH_MS = 1_000;

const ANOTHER_SDK =
  'OpenTelemetry: another SDK is already registered in this process, for example through NODE_OPTIONS, so the spans of ' +
  'this server are not recorded. Remove the other SDK, or unset OTEL_*.';

/** Probes of the admin listener. They would be the majority of all spans. */
const UNTRACED_PATHS = new Set(['/livez', '/readyz', '/metrics']);

/**
 * Starts recording a span for each request, and below it one for each PostgreSQL statement and each Redis command.
 * OpenTelemetry's SDK reads the variables OTEL_* itself. Spans are sent until the resources are disposed of.
 */
export function startTracing(logger: Logger, resources: AsyncDisposableStack): void {
  const warn = (message: string, ...details: unknown[]) => logger.warn({ details }, `OpenTelemetry: ${message}`);
  // If another copy of the API was there first, it refuses all that is registered below, and says nothing of it here.
  const isFirst = diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  if (!isFirst) logger.warn(ANOTHER_SDK);
  setGlobalErrorHandler((error) =>
    logger.warn(`spans could not be exported: ${describeError(error)}; check OTEL_EXPORTER_OTLP_*`),
  );
  const sdk = new NodeSDK({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: defaultResource().merge(
      resourceFromAttributes({ 'service.name': 'petstore-orders', 'service.version': manifest.version }),
    ),
    instrumentations: createInstrumentations(),
    // Metrics are scraped, and the log goes to standard output.
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  resources.defer(() => Promise.race([sdk.shutdown().catch(() => {}), sleep(FLUSH_MS, undefined, { ref: false })]));
}

/**
 * OpenTelemetry's instrumentations. The modules are passed to them here. A loader hook could not intercept their imports
 * in the deployed folder, in which they are parts of a bundle.
 */
function createInstrumentations() {
  const ofHttp = new HttpInstrumentation({
    disableOutgoingRequestInstrumentation: true,
    ignoreIncomingRequestHook: ({ url = '' }) => UNTRACED_PATHS.has(url),
    // Queries contain the inputs of procedures, and a caller may have put its key anywhere.
    startIncomingSpanHook: ({ url = '' }) => ({
      'url.path': hideCredentials(url.split('?', 1)[0] ?? ''),
      'url.query': undefined,
    }),
  });
  const ofPg = new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true });
  // The arguments of a command are keys and values.
  const ofRedis = new IORedisInstrumentation({ requireParentSpan: true, dbStatementSerializer: (command) => command });
  const modules: Readonly<Record<string, unknown>> = { http, pg, ioredis: Redis };
  for (const instrumentation of [ofHttp, ofPg, ofRedis]) {
    for (const { name, patch } of instrumentation.getModuleDefinitions()) {
      if (name in modules) patch?.(modules[name]);
    }
  }
  return [ofHttp, ofPg, ofRedis];
}

/** The error on one line. If a name has several addresses, the AggregateError for all of them has no message itself. */
function describeError(error: unknown): string {
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : inspect(cause);
  return text.replaceAll(/\s+/g, ' ');
}
