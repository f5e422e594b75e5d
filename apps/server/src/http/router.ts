import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@petstore/api';
import findMyWay from 'find-my-way';
import { type Admission, ONE_CALL, type RequestCost } from './admission.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import { describeSpan } from './plugins/tracing.ts';
import { type RouteInfo, UNMATCHED } from './route-info.ts';

/** Path parameters, percent-decoded. What a trailing `*` stands for is called `*`. */
export type PathParams = Readonly<Record<string, string>>;

/** Responds to a request that has been admitted. What it throws becomes an error response. */
export type Handler = (exchange: Exchange, params: PathParams) => void | Promise<void>;

/** One pattern of path with all its methods. */
export interface Route {
  /** In find-my-way's notation, such as `/v1/store/orders/:orderId` or `/docs/*`. */
  readonly path: string;
  readonly info: RouteInfo;
  /**
   * By method: HEAD is served by the handler of GET, OPTIONS and every other method by `info.allow`. A single function
   * serves all methods itself.
   */
  readonly handlers: Handler | Readonly<Record<string, Handler>>;
  /** What a request costs its key. @default one call */
  readonly costOf?: (request: IncomingMessage, params: PathParams) => RequestCost;
}

export interface RouterOptions {
  readonly host: ExchangeHost;
  readonly admission: Admission;
  /** Bounds every path, so no parameter needs a bound of its own. */
  readonly maxHeaderBytes: number;
}

interface Found {
  readonly route: Route;
  readonly params: PathParams;
}

/** Paths are kept in one tree, whatever the method: so 404 and 405 pass the same checks as everything else. */
const TREE = 'GET';
const NO_QUERY = Object.freeze({});
const MALFORMED_URL = new ApiError('invalid_request', 'The URL is malformed.');

/** Finds the route of each request, admits the request and runs its handler. Paths are exact and case-sensitive. */
export class Router {
  readonly #host: ExchangeHost;
  readonly #admission: Admission;
  readonly #paths: findMyWay.Instance<findMyWay.HTTPVersion.V1>;

  constructor(routes: readonly Route[], { host, admission, maxHeaderBytes }: RouterOptions) {
    this.#host = host;
    this.#admission = admission;
    // v1 has no query parameters; v2 and tRPC read their own.
    this.#paths = findMyWay({ maxParamLength: maxHeaderBytes, querystringParser: () => NO_QUERY });
    for (const route of routes) this.#paths.on(TREE, route.path, () => {}, route);
    this.#paths.on(TREE, '/*', () => {}, { path: '/*', info: UNMATCHED, handlers: refuseUnknown } satisfies Route);
  }

  /** Serves one request. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const found = this.#find(request.url ?? '');
    if (found === undefined) {
      void this.#refuseMalformedUrl(request, response);
      return;
    }
    const exchange = new Exchange(this.#host, request, response, found.route.info);
    const { method = '' } = request;
    const route = found.route.path === '/*' ? undefined : found.route.path; // nothing is there
    const clientAddress = this.#host.clientAddress(request);
    describeSpan({ method, route, clientAddress }, response, () => exchange.spanFacts);
    void this.#serve(exchange, found);
  };

  async #serve(exchange: Exchange, { route, params }: Found): Promise<void> {
    const { request } = exchange;
    try {
      const cost = route.costOf?.(request, params) ?? ONE_CALL;
      if (route.info.requiresApiKey && !(await this.#admission.admit(exchange, cost))) return;
      await handlerOf(route, request.method ?? '', params)(exchange, params);
    } catch (error) {
      failOrCut(exchange, error);
    }
  }

  /** @returns `undefined` where the URL is malformed: every other URL has a route */
  #find(url: string): Found | undefined {
    const found = this.#paths.find(TREE, url);
    if (found === null) return undefined;
    const { store, params }: { store: Route; params: Record<string, string | undefined> } = found;
    return { route: store, params: params as PathParams }; // a matched pattern has all its parameters
  }

  /** Responds under the checks of the route that the URL would have if its undecodable segments were plain ones. */
  async #refuseMalformedUrl(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split(/[?#]/, 1);
    const plain = path.split('/').map((segment) => (isDecodable(segment) ? segment : '_'));
    const info = this.#find(plain.join('/'))?.route.info ?? UNMATCHED;
    const exchange = new Exchange(this.#host, request, response, info);
    try {
      if (info.requiresApiKey) await this.#admission.refuseMalformed(exchange, MALFORMED_URL);
      else exchange.fail(MALFORMED_URL);
    } catch (error) {
      failOrCut(exchange, error);
    }
  }
}

/** Responds with the error; where even that fails, as with a header that Node refuses, the connection is cut. */
function failOrCut(exchange: Exchange, error: unknown): void {
  try {
    exchange.fail(error);
  } catch (failure) {
    exchange.logFailure(failure);
    exchange.response.destroy();
    exchange.abandon();
  }
}

function handlerOf({ handlers }: Route, method: string, params: PathParams): Handler {
  if (typeof handlers === 'function') return handlers;
  const handler = handlers[method === 'HEAD' ? 'GET' : method];
  if (handler !== undefined) return handler;
  // `/orders/` is `/orders/:id` with an empty id to the methods of that path, and to others `/orders` with a slash too many.
  for (const name in params) if (params[name] === '') return refuseUnknown;
  return method === 'OPTIONS' ? respondToOptions : refuseMethod;
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** The methods of the handlers as the Allow header lists them. */
export function allowOf(methods: readonly string[]): string {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ');
}

/** For paths where nothing is. */
export const refuseUnknown: Handler = (exchange) => exchange.refuse('route_not_found');
const refuseMethod: Handler = (exchange) => exchange.refuse('method_not_allowed');
/** Responds to OPTIONS with the supported methods (RFC 9110 section 9.3.7). */
export function respondToOptions(exchange: Exchange): void {
  exchange.headers['allow'] = exchange.allow;
  exchange.sendEmpty(204);
}
