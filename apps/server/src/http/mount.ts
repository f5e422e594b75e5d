import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { METHODS } from '../node-http.ts';
import { type Admission, type Demand, ONE_CALL } from './admission.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import type { RouteInfo } from './route-info.ts';

/** Every method that the HTTP parser knows and hands on; CONNECT never reaches a route. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT');

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by each route's `onRequest`. */
    exchange: Exchange;
  }
}

export type Handler = (exchange: Exchange, request: FastifyRequest) => void;

/** Everything that a mounted path serves; OPTIONS and every other method are answered by its `place.allow`. */
export interface Mount {
  /** In Fastify's notation. */
  readonly url: string;
  readonly place: RouteInfo;
  /** By method; `ALL` instead, where the handler itself tells methods apart. HEAD is served by what serves GET. */
  readonly handlers: { readonly ALL: Handler } | Readonly<Record<string, Handler>>;
  /** What a request takes from the limits of its key. @default one call */
  readonly demand?: (request: FastifyRequest) => Demand;
}

export interface Mounting {
  readonly app: FastifyInstance;
  readonly host: ExchangeHost;
  readonly admission: Admission;
}

/**
 * Lets Fastify route every method, and parse no body of any: what is not there, and bodies that nobody reads, are
 * answered under the same checks and headers as everything else.
 */
export function routeAllMethods(app: FastifyInstance): void {
  for (const method of ALL_METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.decorateRequest('exchange');
}

/** Mounts one path with all its methods. */
export function mountPath({ app, host, admission }: Mounting, { url, place, handlers, demand }: Mount): void {
  const rest = new Set(ALL_METHODS);
  function mount(methods: string[], handler: Handler) {
    for (const method of methods) rest.delete(method);
    app.route({ method: methods, url, onRequest, handler: (request) => handler(request.exchange, request) });
  }

  function onRequest(request: FastifyRequest, reply: FastifyReply, done: () => void) {
    const exchange = new Exchange(host, request.raw, reply.raw, place);
    request.exchange = exchange;
    if (!place.requiresApiKey) done();
    else admission.admit(exchange, demand === undefined ? ONE_CALL : demand(request), done);
  }

  for (const [method, handler] of Object.entries(handlers)) {
    if (method === 'ALL') mount([...rest], handler);
    else mount(method === 'GET' ? ['GET', 'HEAD'] : [method], handler);
  }
  if (rest.size === 0) return;
  mount(['OPTIONS'], unlessEmpty(answerOptions));
  mount([...rest], unlessEmpty(refuseMethod));
}

/**
 * Fastify takes `/orders/` for `/orders/:id` without an id. To the methods that want one this is no id; to the others it
 * is `/orders` with a slash too many, where nothing is.
 */
function unlessEmpty(handler: Handler): Handler {
  return (exchange, request) => {
    const params = request.params as Record<string, string>; // as the router reads them from the path
    for (const name in params) if (params[name] === '') return refuseUnknown(exchange, request);
    handler(exchange, request);
  };
}

/** The methods of the handlers as the Allow header lists them. */
export function allowOf(methods: readonly string[]): string {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ');
}

/** For paths where nothing is. */
export const refuseUnknown: Handler = (exchange) => exchange.refuse('route_not_found');
const refuseMethod: Handler = (exchange) => exchange.refuse('method_not_allowed');
/** Answers to OPTIONS: which methods there are (RFC 9110 section 9.3.7). */
export function answerOptions(exchange: Exchange): void {
  exchange.headers['allow'] = exchange.allow;
  exchange.sendEmpty(204);
}
