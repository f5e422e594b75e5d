import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Attributes, DiagLogLevel, diag } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter as OtlpJsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as OtlpProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { AppRouter, RestRoute } from '@petstore/api';
import type { ApiKeyStore, OrderRepository, PetRepository } from '@petstore/domain';
import type { RateLimiter } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';
import type { Logger } from 'pino';
import manifest from '../../package.json' with { type: 'json' };
import type { RequestTracing } from '../http/app-options.ts';
import { createClientAddress, type TrustedProxies } from '../http/edge/client-address.ts';
import { Spans } from './spans.ts';
import { traceRouter, traceRoutes } from './trace-procedures.ts';
import { TracedRequests } from './trace-requests.ts';
import { traceApiKeys, traceLimiter, traceOrders, tracePets } from './trace-storage.ts';
import type { TracingSettings } from './tracing-settings.ts';

/** How long the end waits for the last spans to be sent, in milliseconds. */
const FLUSH_MS = 1_000;

/** What is traced, each called through its own interface. */
export interface TracedParts {
  readonly router: AppRouter;
  readonly restRoutes: readonly RestRoute[];
  readonly orders: OrderRepository;
  readonly pets: PetRepository;
  readonly limiter: RateLimiter;
}

export interface TracingOptions {
  readonly settings: TracingSettings;
  readonly databaseUrls: readonly string[];
  readonly redis: RedisTarget | undefined;
  readonly trustProxy: TrustedProxies;
  readonly logger: Logger;
}

export interface Tracing {
  readonly requests: RequestTracing;
  traceApiKeys(apiKeys: ApiKeyStore): ApiKeyStore;
  /** @param isInRedis whether limits are counted in Redis at this moment */
  trace(parts: TracedParts, isInRedis: () => boolean): TracedParts;
}

/** Begins to record spans, which are sent until the resources are disposed of. */
export function openTracing(options: TracingOptions, resources: AsyncDisposableStack): Tracing {
  const { settings, databaseUrls, redis, trustProxy, logger } = options;
  const warn = (message: string, ...details: unknown[]) => logger.warn({ details }, `OpenTelemetry: ${message}`);
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  setGlobalErrorHandler((error) =>
    logger.warn(`spans could not be sent: ${describeError(error)}; look at ${settings.endpointVariable}`),
  );
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'petstore-orders',
          'service.version': manifest.version,
          'service.instance.id': `${hostname()}:${process.pid}`,
        }),
      )
      // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ ...settings.batches, exporter: exporterOf(settings) })],
  });
  resources.defer(() =>
    Promise.race([provider.shutdown().catch(() => {}), sleep(FLUSH_MS, undefined, { ref: false })]),
  );
  const contexts = new AsyncLocalStorageContextManager().enable();
  const spans = new Spans(provider.getTracer('petstore-orders', manifest.version), contexts);
  const database = databaseOf(databaseUrls);
  return {
    requests: new TracedRequests(spans, createClientAddress(trustProxy)),
    traceApiKeys: (apiKeys) => traceApiKeys(apiKeys, spans, database),
    trace: ({ router, restRoutes, orders, pets, limiter }, isInRedis) => ({
      router: traceRouter(router, spans),
      restRoutes: traceRoutes(restRoutes, spans),
      orders: traceOrders(orders, spans, database),
      pets: tracePets(pets, spans, database),
      limiter: traceLimiter(limiter, spans, { attributes: redisOf(redis), isInRedis }),
    }),
  };
}

/** On one line. Where a name has several addresses, each has failed, and the AggregateError itself has no message. */
function describeError(error: unknown): string {
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : inspect(cause);
  return text.replaceAll(/\s+/g, ' ');
}

function exporterOf({ exporter }: TracingSettings): SpanExporter {
  switch (exporter) {
    case 'console':
      return new ConsoleSpanExporter();
    case 'http/protobuf':
      return new OtlpProtobufExporter();
    case 'http/json':
      return new OtlpJsonExporter();
    default:
      return exporter satisfies never;
  }
}

function samplerOf({ sampler, samplingRatio }: TracingSettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(samplingRatio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplingRatio) });
    default:
      return sampler satisfies never;
  }
}

/** The database, and its server where there is but one. */
function databaseOf(urls: readonly string[]): Attributes {
  const [first, ...others] = urls.map((url) => URL.parse(url));
  return {
    'db.system.name': 'postgresql',
    ...(first?.pathname && { 'db.namespace': decodeURIComponent(first.pathname.slice(1)) }),
    ...(first && others.length === 0 && serverAt(first.hostname, Number(first.port || 5432))),
  };
}

/** Redis, and its server where that is always the same. */
function redisOf(target: RedisTarget | undefined): Attributes {
  const system = { 'db.system.name': 'redis' };
  if (target?.type === 'socket') return { ...system, 'server.address': target.path };
  if (target?.type !== 'single') return system;
  return { ...system, 'db.namespace': `${target.database}`, ...serverAt(target.host, target.port) };
}

const serverAt = (address: string, port: number): Attributes =>
  address === '' ? {} : { 'server.address': address, 'server.port': port };
