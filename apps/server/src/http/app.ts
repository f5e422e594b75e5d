import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DOCUMENTED_VERSIONS } from '@petstore/api';
import { AccessLog } from './access-log.ts';
import { Admission } from './admission.ts';
import { type AppOptions, DEFAULT_BOUNDS, type HttpBounds, type LoadReport } from './app-options.ts';
import { documentRoutes } from './documents.ts';
import { createClientAddress, createIsProxy } from './edge/client-address.ts';
import { createBoundedServer } from './edge/connections.ts';
import { createRefusedRequests } from './edge/refused-requests.ts';
import type { ExchangeHost } from './exchange.ts';
import { LoadShedder } from './in-flight.ts';
import { createCorsPolicy } from './response-headers.ts';
import { restRoutesOf } from './rest.ts';
import { UNMATCHED_REST } from './route-info.ts';
import { type Route, Router, refuseUnknown } from './router.ts';
import { Streams } from './streams.ts';
import { Subscriptions } from './subscriptions.ts';
import { trpcRoutes } from './trpc.ts';

interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether several servers may listen on the port; the kernel deals out the connections. @default false */
  readonly reusePort?: boolean;
}

/** The public listener. */
export interface App {
  readonly server: Server;
  /** @throws Error (as a rejection) with Node's `code` where the address cannot be listened on */
  listen(options: ListenOptions): Promise<void>;
  /** What is in flight at this moment. */
  load(): Promise<LoadReport>;
  /** From now on each response is the last of its connection. */
  beginClosing(): void;
  /** Responds to what clients had already sent, and then ends. */
  close(): Promise<void>;
}

/**
 * Builds the public listener: REST below each version's segment, tRPC under /trpc, and the documents. Every request goes
 * from the {@link Router} to its handler, and every response is written by its {@link Exchange}.
 */
export function createApp(options: AppOptions): App {
  const bounds: HttpBounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const { authenticator, limiter, logger, metrics, decisions, newRequestId, services, isStorageAvailable } = options;
  const { accessLogLevel: level = 'debug' } = options;
  const load = new LoadShedder(bounds.maxRequestsInFlight);
  const cors = createCorsPolicy(options.corsOrigins);
  const streams = new Streams({ logger, bounds });
  const { maxSubscriptions, maxBodyBytes } = bounds;
  const subscriptions = new Subscriptions({ streams, authenticator, maxSubscriptions });
  const clientAddress = createClientAddress(options.trustedProxies);
  const accessLog = logger.isLevelEnabled(level) ? new AccessLog({ logger, level, clientAddress }) : undefined;
  const host: ExchangeHost = { logger, metrics, accessLog, clientAddress, cors, load, newRequestId };
  const nowMs = () => services.clock().getTime();
  const admission = new Admission({
    authenticator,
    limiter,
    decisions,
    clientAddress,
    cors,
    load,
    isStorageAvailable,
    nowMs,
  });
  const routes = [
    ...restRoutesOf(options.restRoutes, { services, streams }),
    ...trpcRoutes({ router: options.router, services, streams, subscriptions, maxBodyBytes }),
    ...documentRoutes(options),
    ...unmatchedRoutes(),
  ];
  const router = new Router(routes, { host, admission, maxHeaderBytes: bounds.maxHeaderBytes });
  const server = createBoundedServer(router.handle, { bounds, isProxy: createIsProxy(options.trustedProxies) });
  const refused = createRefusedRequests({ limiter, metrics, decisions, accessLog, newRequestId });
  server.on('clientError', refused.onClientError);
  server.on('connect', refused.onConnect);
  // An expectation is judged with everything else.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  let closing: Promise<void> | undefined;
  return {
    server,
    async listen({ host, port, reusePort = false }) {
      server.listen({ host, port, reusePort });
      await once(server, 'listening');
    },
    async load() {
      const connections = await promisify(server.getConnections.bind(server))();
      return { connections, requests: load.requestsInFlight, streams: streams.openCount };
    },
    beginClosing: () => load.beginClosing(),
    close() {
      subscriptions.close();
      closing ??= close(server, load, bounds.closingGraceMs);
      return closing;
    },
  };
}

/** Below the API a key is needed to learn that nothing is there. */
const unmatchedRoutes = (): readonly Route[] =>
  DOCUMENTED_VERSIONS.flatMap(({ version }) => [`/${version}`, `/${version}/*`]).map((path) => ({
    path,
    info: UNMATCHED_REST,
    handlers: refuseUnknown,
  }));

async function close(server: Server, load: LoadShedder, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  load.beginClosing();
  await sleep(graceMs);
  await acceptBacklog(server);
  // Stops listening, and no more: http.Server's own close would also cut connections whose first request is on its way.
  NetServer.prototype.close.call(server);
  // A connection whose last response is a stream that began earlier becomes idle only now and then.
  const timer = setInterval(() => server.closeIdleConnections(), graceMs);
  await closed;
  clearInterval(timer);
  server.close(); // ends the checks of its timeouts
}

/** Bounds {@link acceptBacklog} where clients connect faster than connections are accepted. */
const BACKLOG_TURNS_MAX = 200;

/**
 * Accepts the connections that wait in the kernel, which would reset them when the port is closed. Node accepts one in
 * each turn of the event loop. Where servers share the port, clients would see these resets while the others serve.
 */
async function acceptBacklog(server: Server): Promise<void> {
  let accepted = 0;
  const count = () => accepted++;
  server.on('connection', count);
  for (let turn = 0, before = -1; before !== accepted && turn < BACKLOG_TURNS_MAX; turn++) {
    before = accepted;
    // The first ends this turn of the loop, the second one that has polled the port.
    await nextTurn();
    await nextTurn();
  }
  server.off('connection', count);
}
