import {
  DEPRECATION_GUIDE_PATH,
  deprecationFields,
  type RestResult,
  type RestRoute,
  type Services,
} from '@petstore/api';
import type { Exchange } from './exchange.ts';
import { JSON_TYPE } from './response-headers.ts';
import type { Deprecation, RouteInfo } from './route-info.ts';
import { allowOf, type Handler, type Route } from './router.ts';
import type { Streams } from './streams.ts';

export interface RestOptions {
  readonly services: Services;
  readonly streams: Streams;
}

/** The documented operations, those of one path as one route. */
export const restRoutesOf = (operations: readonly RestRoute[], options: RestOptions): readonly Route[] =>
  [...Map.groupBy(operations, pathOf)].map(([path, onPath]) => ({
    path,
    info: infoOf(onPath, options.services),
    handlers: Object.fromEntries(onPath.map((operation) => [operation.method, createHandler(operation, options)])),
  }));

/** `/store/orders/{orderId}` as the router has it, below the version segment. */
const pathOf = ({ apiVersion, path }: RestRoute): string => `/${apiVersion}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;

function infoOf(routes: readonly RestRoute[], services: Services): RouteInfo {
  const deprecated = routes.find((route) => route.deprecation !== undefined);
  return {
    // The operations of one path are few; requests by other methods are counted under the first.
    operation: routes[0]?.operationId ?? 'unknown',
    errorFormat: 'rest',
    requiresApiKey: true,
    allow: allowOf(routes.map((route) => route.method)),
    ...(deprecated?.deprecation && { deprecation: deprecationOf(deprecated, deprecated.deprecation, services) }),
  };
}

/** RFC 9745 and RFC 8594: since when it is deprecated, until when it is served, and where that is explained. */
function deprecationOf(
  route: RestRoute,
  { deprecatedAt, sunsetAt }: NonNullable<RestRoute['deprecation']>,
  { sunsetOverrides = {} }: Services,
): Deprecation {
  const { operationId, method } = route;
  // Relative, so that it holds behind a proxy that puts something before our paths.
  const wayUp = '../'.repeat(pathOf(route).split('/').length - 2);
  const page = `<${wayUp}${DEPRECATION_GUIDE_PATH.slice(1)}>`;
  return {
    operation: operationId,
    methods: new Set(method === 'GET' ? ['GET', 'HEAD'] : [method]),
    headers: {
      ...deprecationFields(deprecatedAt, sunsetOverrides[operationId] ?? sunsetAt),
      link: `${page}; rel="deprecation"; type="text/html", ${page}; rel="sunset"; type="text/html"`,
    },
  };
}

function createHandler(route: RestRoute, { services, streams }: RestOptions): Handler {
  const { operationId, successStatus, takesQuery } = route;

  function send(exchange: Exchange, result: RestResult): void | Promise<void> {
    switch (result.type) {
      case 'empty':
        return exchange.sendEmpty(successStatus);
      case 'json':
        if (result.headers !== undefined) Object.assign(exchange.headers, result.headers);
        return exchange.sendText(successStatus, JSON_TYPE, result.text);
      case 'json-stream':
        return streams.sendJson(exchange, result.chunks);
      default:
        return result satisfies never;
    }
  }

  return async (exchange, params) => {
    exchange.operation = operationId;
    const { principal, requestId } = exchange;
    if (principal === undefined) throw new Error('An operation was called without a principal.');
    const query = takesQuery ? queryOf(exchange) : '';
    await send(exchange, await route.call(params, { services, principal, requestId }, query));
  };
}

/** What follows the question mark. */
function queryOf({ request: { url = '' } }: Exchange): string {
  const start = url.indexOf('?');
  if (start === -1) return '';
  const end = url.indexOf('#', start);
  return url.slice(start + 1, end === -1 ? url.length : end);
}
