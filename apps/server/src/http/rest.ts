import {
  DEPRECATION_GUIDE_PATH,
  deprecationFields,
  type RestResult,
  type RestRoute,
  type Services,
} from '@petstore/api';
import type { FastifyRequest } from 'fastify';
import { type Exchange, JSON_TYPE } from './exchange.ts';
import { sendJsonChunks } from './json-stream.ts';
import { allowOf, type Handler, type Mounting, mountPath } from './mount.ts';
import type { Deprecation, RouteInfo } from './route-info.ts';

/**
 * Mounts every documented operation, each as a route of its own.
 *
 * @returns the places by path, in Fastify's notation
 */
export function mountRest(
  mounting: Mounting,
  routes: readonly RestRoute[],
  services: Services,
): ReadonlyMap<string, RouteInfo> {
  const places = new Map<string, RouteInfo>();
  for (const [url, onPath] of Map.groupBy(routes, urlOf)) {
    const handlers = Object.fromEntries(onPath.map((route) => [route.method, createHandler(route, services)]));
    const place = placeOf(onPath, services);
    mountPath(mounting, { url, place, handlers });
    places.set(url, place);
  }
  return places;
}

/** `/store/orders/{orderId}` as Fastify has it, below the version segment. */
const urlOf = ({ apiVersion, path }: RestRoute): string => `/${apiVersion}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;

function placeOf(routes: readonly RestRoute[], services: Services): RouteInfo {
  const deprecated = routes.find((route) => route.deprecatedAt !== undefined);
  return {
    // The operations of one path are few; requests by other methods are counted under the first.
    operation: routes[0]?.operationId ?? 'unknown',
    errorFormat: 'rest',
    requiresApiKey: true,
    allow: allowOf(routes.map((route) => route.method)),
    ...(deprecated?.deprecatedAt && { deprecation: deprecationOf(deprecated, deprecated.deprecatedAt, services) }),
  };
}

/** RFC 9745 and RFC 8594: since when it is deprecated, until when it answers, and where that is explained. */
function deprecationOf(route: RestRoute, deprecatedAt: Date, { petsSunsetAt }: Services): Deprecation {
  const { operationId, method } = route;
  // Relative, so that it holds behind a proxy that puts something before our paths.
  const wayUp = '../'.repeat(urlOf(route).split('/').length - 2);
  const page = `<${wayUp}${DEPRECATION_GUIDE_PATH.slice(1)}>`;
  return {
    operation: operationId,
    methods: new Set(method === 'GET' ? ['GET', 'HEAD'] : [method]),
    headers: {
      ...deprecationFields(deprecatedAt, petsSunsetAt),
      link: `${page}; rel="deprecation"; type="text/html", ${page}; rel="sunset"; type="text/html"`,
    },
  };
}

function createHandler(route: RestRoute, services: Services): Handler {
  const { operationId, successStatus, takesQuery } = route;

  function answer(exchange: Exchange, result: RestResult): void | Promise<void> {
    switch (result.type) {
      case 'empty':
        return exchange.sendEmpty(successStatus);
      case 'json':
        if (result.headers !== undefined) Object.assign(exchange.headers, result.headers);
        return exchange.sendText(successStatus, JSON_TYPE, result.text);
      case 'json-stream':
        return sendJsonChunks(exchange, result.chunks);
      default:
        return result satisfies never;
    }
  }

  return (exchange: Exchange, request: FastifyRequest) => {
    exchange.operation = operationId;
    const { principal, requestId } = exchange;
    if (principal === undefined) throw new Error('An operation was called on behalf of nobody.');
    const params = request.params as Record<string, string>; // as the router reads them from the path
    route
      .call(params, { services, principal, requestId }, takesQuery ? queryOf(exchange) : '')
      .then((result) => answer(exchange, result))
      .catch((error: unknown) => exchange.fail(error));
  };
}

/** What follows the question mark. */
function queryOf({ request: { url = '' } }: Exchange): string {
  const start = url.indexOf('?');
  if (start === -1) return '';
  const end = url.indexOf('#', start);
  return url.slice(start + 1, end === -1 ? url.length : end);
}
