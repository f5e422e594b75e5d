import { METHODS } from 'node:http';
import { DOCUMENTED_VERSIONS } from '@petstore/api';
import fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyPluginAsync, LogController } from 'fastify';
import { WITHOUT_SCHEMAS } from '../operations/listen.ts';
import { createTrustFunction, type TrustFunction } from './address.ts';
import { admission } from './admission.ts';
import { type AppOptions, DEFAULT_BOUNDS, type HttpBounds } from './app-options.ts';
import { RequestsInFlight } from './concurrency.ts';
import { Connections } from './connections.ts';
import { cors, publicCors } from './cors.ts';
import { rewriteTarget } from './malformed-requests.ts';
import { observe, traceIdOf } from './observe.ts';
import { responses } from './responses.ts';
import { documents } from './routes/documents.ts';
import { rest } from './routes/rest.ts';
import { trpc } from './routes/trpc.ts';
import { LongLists } from './streams/long-lists.ts';
import { WaitingCalls } from './streams/waiting-calls.ts';

/** What is in flight on the public listener. */
export interface Traffic {
  readonly connections: Connections;
  /** Responses that are being sent included, but not calls that wait. */
  readonly requestsInFlight: RequestsInFlight;
  readonly longLists: LongLists;
  readonly waitingCalls: WaitingCalls;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly traffic: Traffic;
  }
}

/** Request ids from callers that are kept. The beginning of an API key, sent by mistake, must not reach the logs. */
const KEPT_REQUEST_ID = /^(?!.*pso_(?:live|demo)_)[A-Za-z0-9_-]{1,64}$/;

/**
 * Builds the public listener: REST below each version's segment, tRPC under /trpc, and the documents. A request passes
 * through the plugins from top to bottom, and then through admission to its route.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const { metrics, services } = options;
  const bounds: HttpBounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const isTrustedProxy = createTrustFunction(options.trustedProxies);
  const connections = new Connections({ ...options, bounds, isTrustedProxy });
  const requestsInFlight = new RequestsInFlight(bounds);
  const longLists = new LongLists(metrics, bounds.maxLongLists);
  const waitingCalls = new WaitingCalls(options.authenticator, bounds.maxWaitingCalls);
  const app = createFastify(options, bounds, connections, isTrustedProxy);

  app.register(connections.plugin);
  app.register(responses, options);
  app.register(observe, options);
  app.register(cors, options);
  const admissionOptions = { ...options, requestsInFlight, clock: services.clock };
  /** The documents, and all paths that are neither of the API nor of tRPC. */
  const openPaths: FastifyPluginAsync = async (open) => {
    open.register(publicCors);
    open.register(admission, { ...admissionOptions, needsKey: false });
    open.register(documents, options);
  };
  /** The paths that need a key, even for the response that nothing is there. */
  const guardedPaths: FastifyPluginAsync = async (guarded) => {
    guarded.register(admission, { ...admissionOptions, needsKey: true });
    for (const { version } of DOCUMENTED_VERSIONS) {
      guarded.register(rest, { prefix: `/${version}`, version, services, longLists, waitingCalls });
    }
    guarded.register(trpc, { prefix: '/trpc', services, metrics, longLists, waitingCalls });
  };

  app.register(openPaths);
  app.register(guardedPaths);
  app.addHook('preClose', async () => waitingCalls.close());
  app.decorate('traffic', { connections, requestsInFlight, longLists, waitingCalls });
  return app;
}

/** Fastify with its options, before any plugin is registered. */
function createFastify(
  { logger, newRequestId }: AppOptions,
  bounds: HttpBounds,
  connections: Connections,
  trustProxy: TrustFunction,
): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    // We log requests ourselves; see observe.ts.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: (parent, bindings, opts, { headers }) =>
      parent.child({ ...bindings, traceId: traceIdOf(headers) }, opts),
    genReqId: ({ headers: { 'x-request-id': id } }) =>
      typeof id === 'string' && KEPT_REQUEST_ID.test(id) ? id : newRequestId(),
    trustProxy,
    bodyLimit: bounds.maxBodyBytes,
    serverFactory: (serve) => connections.createServer(serve),
    clientErrorHandler: (error, socket) => connections.refuse(error, socket),
    // The limit of the header limits every path, so parameters need no limit of their own.
    routerOptions: { maxParamLength: bounds.maxHeaderBytes },
    return503OnClosing: false,
    rewriteUrl: rewriteTarget,
    schemaController: WITHOUT_SCHEMAS,
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
