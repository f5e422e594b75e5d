import type { Server } from 'node:http';
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

/** Ids of callers that are kept. The beginning of an API key, sent by mistake, must not get into our logs. */
const KEPT_REQUEST_ID = /^(?!.*pso_(?:live|test)_)[A-Za-z0-9_-]{1,64}$/;

interface GuardedOptions extends AppOptions {
  readonly bounds: HttpBounds;
  readonly longLists: LongLists;
  readonly subscriptions: Subscriptions;
  readonly requestCount: () => number;
}

/** What needs a key, even to learn that nothing is there. The checks come in the order of the plugins. */
const guarded: FastifyPluginAsync<GuardedOptions> = async (app, options) => {
  const { services, restRoutes, longLists } = options;
  const nowMs = () => services.clock().getTime();
  app.register(preflights, { origins: options.corsOrigins, decisions: options.decisions, nowMs });
  app.register(concurrency, { maxRequests: options.bounds.maxRequestsInFlight, requestCount: options.requestCount });
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
 * Builds the public listener: REST below each version's segment, tRPC under /trpc, and the documents. A request passes the
 * plugins from top to bottom, and what needs a key those of the guarded part after them.
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
  app.register(clientAddress);
  app.register(subject);
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
  app.register(guarded, { ...options, bounds, longLists, subscriptions, requestCount });

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

/** Fastify with its own options, before anything is registered. */
function createFastify(options: AppOptions, bounds: HttpBounds, trustProxy: TrustFunction): FastifyInstance {
  const { accessLogLevel = 'debug', logger, newRequestId } = options;
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    // Requests have lines of our own; see plugins/access-log.ts.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: (parent, bindings, opts, { headers }) =>
      parent.child({ ...bindings, traceId: traceIdOf(headers) }, opts),
    genReqId: ({ headers: { 'x-request-id': id } }) =>
      typeof id === 'string' && KEPT_REQUEST_ID.test(id) ? id : newRequestId(),
    trustProxy,
    bodyLimit: bounds.maxBodyBytes,
    requestTimeout: bounds.requestTimeoutMs,
    keepAliveTimeout: bounds.keepAliveTimeoutMs,
    // Responses are bounded in steps instead; see plugins/stalled-readers.ts.
    connectionTimeout: 0,
    http: {
      maxHeaderSize: bounds.maxHeaderBytes,
      headersTimeout: bounds.headersTimeoutMs,
      // How late a 408 may come.
      connectionsCheckingInterval: Math.min(1_000, bounds.headersTimeoutMs),
      // A missing Host is refused by us, with an Error object.
      requireHostHeader: false,
      // No handler waits for the end of a body that was not announced.
      optimizeEmptyRequests: true,
    },
    // The header bounds every path, so no parameter needs a bound of its own.
    routerOptions: { maxParamLength: bounds.maxHeaderBytes },
    return503OnClosing: false,
    rewriteUrl: rewriteMalformedUrl,
    clientErrorHandler: createClientErrorHandler({ ...options, accessLogLevel }),
  });
  // Every method there is can be refused with 405. Bodies are read of POST alone: no other operation has one.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && method !== 'POST') app.addHttpMethod(method, { overrideExisting: true });
  }
  // A body of unknown type is passed over, as by a path that is not there: whether it is right is for its route to say.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  return app;
}
