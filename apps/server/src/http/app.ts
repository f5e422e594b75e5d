import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@petstore/api';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Admission } from './admission.ts';
import { type AppOptions, DEFAULT_BOUNDS, type HttpBounds } from './app-options.ts';
import { type BoundedServerOptions, createBoundedServer } from './bounded-server.ts';
import { createClientAddress, createIsProxy } from './client-address.ts';
import { createCorsPolicy } from './cors.ts';
import { mountDocuments } from './documents.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import { LoadShedder } from './load-shedder.ts';
import { type Mounting, mountPath, refuseUnknown, routeAllMethods } from './mount.ts';
import { createRefusedRequests } from './refused-requests.ts';
import { mountRest } from './rest.ts';
import { placeOfMalformedUrl, UNMATCHED, UNMATCHED_REST, UNMATCHED_TRPC } from './route-info.ts';
import { TrpcHandler } from './trpc.ts';
import { UnderWay } from './under-way.ts';

const MALFORMED_URL = new ApiError('invalid_request', 'The URL is malformed.');

/**
 * Builds the public listener: REST under /v1 and /v2, tRPC under /trpc, and the documents. Fastify routes; every answer
 * is written by {@link Exchange}.
 *
 * Closing it answers what clients had already sent, and then ends.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const bounds: HttpBounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const { authenticator, limiter, logger, metrics, newRequestId, services, isStorageAvailable } = options;
  const load = new LoadShedder(bounds);
  const cors = createCorsPolicy(options.corsOrigins);
  const longLists = new UnderWay();
  const host: ExchangeHost = { logger, metrics, cors, load, longLists, readerBounds: bounds, newRequestId };
  const clientAddress = createClientAddress(options.trustedProxies);
  const nowMs = () => services.clock().getTime();
  const admission = new Admission({ authenticator, limiter, clientAddress, cors, load, isStorageAvailable, nowMs });
  const refused = createRefusedRequests({ limiter, metrics, newRequestId });

  const isProxy = createIsProxy(options.trustedProxies);
  const app = createListener({ bounds, isProxy }, refused.onClientError, (request, reply) => {
    const place = placeOfMalformedUrl(request.raw.url ?? '', restPlaces);
    const exchange = new Exchange(host, request.raw, reply.raw, place);
    if (place.requiresApiKey) admission.refuseMalformed(exchange, MALFORMED_URL);
    else exchange.fail(MALFORMED_URL);
  });
  // What is expected of us is judged with everything else.
  const { server } = app;
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', refused.onConnect);

  routeAllMethods(app);
  const mounting: Mounting = { app, host, admission };
  const restPlaces = mountRest(mounting, options.restRoutes, services);
  mountTrpc(mounting, options, bounds);
  mountDocuments(mounting, options);
  mountNothing(mounting);
  app.setErrorHandler((error, request) => request.exchange.fail(error));

  app.addHook('preClose', async () => {
    load.beginClosing();
    await sleep(bounds.closingGraceMs);
    // A connection whose last answer is a stream that began earlier becomes idle only now and then.
    const timer = setInterval(() => server.closeIdleConnections(), bounds.closingGraceMs);
    server.once('close', () => clearInterval(timer));
  });
  return app;
}

function createListener(
  { bounds, isProxy }: BoundedServerOptions,
  clientErrorHandler: ReturnType<typeof createRefusedRequests>['onClientError'],
  onMalformedUrl: (request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  return fastify({
    // Requests are logged by Exchange, which costs no logger of its own for each of them.
    logger: false,
    genReqId: () => '',
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler,
    frameworkErrors: (_, request, reply) => onMalformedUrl(request, reply),
    serverFactory: (handler) => createBoundedServer(handler, { bounds, isProxy }),
    // Fastify would load two compilers of schemas, a third of its start, and no route has one.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    routerOptions: {
      // A path is bounded by the size of the headers; what is no id is told so, however long it is.
      maxParamLength: bounds.maxHeaderBytes,
      // v1 has no query parameters; v2 and tRPC read their own.
      querystringParser: () => NO_QUERY,
      // Compiled for every method the routes take longer to start than they would ever save.
      compile: false,
    },
  });
}

const NO_QUERY = Object.freeze({});

function refuseSchema(): never {
  throw new Error("Contracts stand beside the procedures; Fastify's routes have no schemas.");
}

function mountTrpc(mounting: Mounting, { router, services }: AppOptions, { maxBodyBytes }: HttpBounds): void {
  const handler = new TrpcHandler({ router, services, maxBodyBytes });
  const pathOf = ({ params }: FastifyRequest) => (params as { '*': string })['*']; // as the route has it
  mountPath(mounting, {
    url: '/trpc/*',
    place: UNMATCHED_TRPC,
    demand: (request) => handler.demandOf(pathOf(request), request.raw.url ?? ''),
    handlers: { ALL: (exchange, request) => handler.handle(exchange, pathOf(request)) },
  });
  mountPath(mounting, { url: '/trpc', place: UNMATCHED_TRPC, handlers: { ALL: refuseUnknown } });
}

/** Whatever else is asked for is answered under the checks and headers of the place where it would be. */
function mountNothing(mounting: Mounting): void {
  for (const url of ['/v1', '/v1/*', '/v2', '/v2/*']) {
    mountPath(mounting, { url, place: UNMATCHED_REST, handlers: { ALL: refuseUnknown } });
  }
  mountPath(mounting, { url: '/*', place: UNMATCHED, handlers: { ALL: refuseUnknown } });
}
