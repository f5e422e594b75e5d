import { createServer, type Server } from 'node:http';
import { DOCUMENTED_VERSIONS } from '@petstore/api';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyPluginAsync, LogController } from 'fastify';
import { type AppOptions, DEFAULT_BOUNDS, type HttpBounds, type HttpLoad } from './app-options.ts';
import { createTrustFunction, type TrustFunction } from './client-address.ts';
import { traceIdOf } from './log-fields.ts';
import { rewriteMalformedUrl } from './malformed-requests.ts';
import { METHODS } from './node-http.ts';
import { accessLog } from './plugins/access-log.ts';
import { authentication } from './plugins/authentication.ts';
import { brokenBodies } from './plugins/broken-bodies.ts';
import { clientAddress } from './plugins/client-address.ts';
import { closing } from './plugins/closing.ts';
import { concurrency } from './plugins/concurrency.ts';
import { connectionBounds } from './plugins/connection-bounds.ts';
import { cors, preflights } from './plugins/cors.ts';
import { defaultHeaders } from './plugins/default-headers.ts';
import { deprecation } from './plugins/deprecation.ts';
import { errors } from './plugins/errors.ts';
import { expectations } from './plugins/expectations.ts';
import { inFlight } from './plugins/in-flight.ts';
import { limits } from './plugins/limits.ts';
import { metrics as requestMetrics } from './plugins/metrics.ts';
import { stalledReaders } from './plugins/stalled-readers.ts';
import { subject } from './plugins/subject.ts';
import { tracing } from './plugins/tracing.ts';
import { createClientErrorHandler } from './refused-requests.ts';
import { RequestsAhead } from './requests-ahead.ts';
import { documents } from './routes/documents.ts';
import { rest } from './routes/rest.ts';
import { trpc } from './routes/trpc.ts';
import { LongLists } from './streams/long-lists.ts';
import { Subscriptions } from './streams/subscriptions.ts';

declare module 'fastify' {
  interface FastifyInstance {
    readonly load: HttpLoad;
  }
}

/** Request ids from callers that are kept. The beginning of an API key, sent by mistake, must not reach the logs. */
const KEPT_REQUEST_ID = /^(?!.*pso_(?:live|test)_)[A-Za-z0-9_-]{1,64}$/;

interface GuardedOptions extends AppOptions {
  readonly bounds: HttpBounds;
  readonly longLists: LongLists;
  readonly subscriptions: Subscriptions;
}

/** The paths that need a key, even for the response that nothing is there. The plugins check requests in this order. */
const guarded: FastifyPluginAsync<GuardedOptions> = async (app, options) => {
  const { services, restRoutes, longLists } = options;
  const nowMs = () => services.clock().getTime();
  app.register(preflights, { origins: options.corsOrigins, decisions: options.decisions, nowMs });
  app.register(authentication, options);
  app.register(limits, { ...options, nowMs });
  app.register(expectations);
  for (const { version } of DOCUMENTED_VERSIONS) {
    const routes = restRoutes.filter(({ apiVersion }) => apiVersion === version);
    app.register(rest, { prefix: `/${version}`, restRoutes: routes, services, longLists });
  }
  app.register(trpc, {
    prefix: '/trpc',
    router: options.router,
    services,
    longLists,
    subscriptions: options.subscriptions,
  });
};

/**
 * Builds the public listener: REST below each version's segment, tRPC under /trpc, and the documents. A request passes
 * through the plugins from top to bottom, and then, if it needs a key, through those of the guarded part.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const bounds: HttpBounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const { authenticator, metrics, logger, accessLogLevel = 'debug', corsOrigins: origins } = options;
  const isTrustedProxy = createTrustFunction(options.trustedProxies);
  const app = createFastify(options, bounds, isTrustedProxy);
  const longLists = new LongLists({ metrics, maxLongLists: bounds.maxLongLists });
  const subscriptions = new Subscriptions({ longLists, authenticator, maxSubscriptions: bounds.maxSubscriptions });
  const requestCount = () => app.inFlight.size - subscriptions.openCount;

  app.register(inFlight);
  app.register(clientAddress, { isTrustedProxy });
  app.register(subject);
  app.register(concurrency, {
    maxRequests: bounds.maxRequestsInFlight,
    maxRequestsWithoutKey: bounds.maxRequestsInFlightWithoutKey,
  });
  app.register(brokenBodies);
  app.register(closing, { graceMs: bounds.closingGraceMs });
  app.register(connectionBounds, {
    max: bounds.maxConnections,
    maxPerAddress: bounds.maxConnectionsPerAddress,
    isProxy: (peer) => isTrustedProxy(peer, 0),
  });
  app.register(stalledReaders, { timeoutMs: bounds.stalledTimeoutMs, metrics });
  app.register(errors, { metrics });
  app.register(defaultHeaders);
  app.register(requestMetrics, { metrics });
  app.register(tracing);
  if (logger.isLevelEnabled(accessLogLevel)) app.register(accessLog, { level: accessLogLevel });
  app.register(cors, { origins });
  app.register(deprecation, { metrics });
  app.register(documents, options);
  app.register(guarded, { ...options, bounds, longLists, subscriptions });

  app.addHook('preClose', async () => subscriptions.close());
  app.decorate('load', {
    countConnections: () => countConnections(app.server),
    countRequests: requestCount,
    countLongLists: () => longLists.openCount,
  });
  return app;
}

const countConnections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

/** Fastify with its options, before any plugin is registered. */
function createFastify(options: AppOptions, bounds: HttpBounds, trustProxy: TrustFunction): FastifyInstance {
  const { accessLogLevel = 'debug', logger, newRequestId } = options;
  const loggerInstance: FastifyBaseLogger = logger;
  const requestsAhead = new RequestsAhead({
    max: bounds.maxRequestsAhead,
    maxPerConnection: bounds.maxRequestsAheadPerConnection,
  });
  const app = fastify({
    loggerInstance,
    // We log requests ourselves; see plugins/access-log.ts.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: (parent, bindings, opts, { headers }) =>
      parent.child({ ...bindings, traceId: traceIdOf(headers) }, opts),
    genReqId: ({ headers: { 'x-request-id': id } }) =>
      typeof id === 'string' && KEPT_REQUEST_ID.test(id) ? id : newRequestId(),
    trustProxy,
    bodyLimit: bounds.maxBodyBytes,
    serverFactory: (serve) => {
      const options = {
        requestTimeout: bounds.requestTimeoutMs,
        keepAliveTimeout: bounds.keepAliveTimeoutMs,
        maxHeaderSize: bounds.maxHeaderBytes,
        headersTimeout: bounds.headersTimeoutMs,
        // The maximum delay of a 408.
        connectionsCheckingInterval: Math.min(1_000, bounds.headersTimeoutMs),
        // We refuse a request without Host ourselves, with an Error object.
        requireHostHeader: false,
        // A request that announces no body goes to its handler without waiting for the end of its stream.
        optimizeEmptyRequests: true,
      };
      return createServer(options, (request, response) => {
        if (requestsAhead.admit(request, response)) serve(request, response);
      });
    },
    // The limit of the header limits every path, so parameters need no limit of their own.
    routerOptions: { maxParamLength: bounds.maxHeaderBytes },
    return503OnClosing: false,
    rewriteUrl: rewriteMalformedUrl,
    clientErrorHandler: createClientErrorHandler({ ...options, accessLogLevel }),
  });
  // Any existing method can be refused with 405. Only POST bodies are read: no other operation has one.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && method !== 'POST') app.addHttpMethod(method, { overrideExisting: true });
  }
  // A body of unknown type is not parsed, as on a path that does not exist: its route decides whether the type is right.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  return app;
}
