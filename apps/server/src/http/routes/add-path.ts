import { refusalOf } from '@petstore/api';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteHandlerMethod } from 'fastify';
import type { DeprecatedOperation } from '../observe.ts';

export interface PathOptions {
  /** The name under which requests are counted whose method has no operation of its own. */
  readonly operation: string;
  /** @default none */
  readonly deprecated?: readonly DeprecatedOperation[];
}

/** How a path is served by one of its methods. */
export interface MethodRoute {
  readonly method: HTTPMethods;
  readonly operation: string;
  readonly handler: RouteHandlerMethod;
}

/** Adds a path: GET includes HEAD, OPTIONS lists the methods, and any other existing method gets 405. */
export function addPath(
  app: FastifyInstance,
  url: string,
  { operation, deprecated = [] }: PathOptions,
  routes: readonly MethodRoute[],
): void {
  const supported = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = [...supported, 'OPTIONS'].join(', ');
  const announced = deprecated.length > 0 && { deprecated: () => deprecated };
  for (const { method, operation, handler } of routes) {
    app.route({ url, method, config: { operation, ...announced }, handler });
  }
  app.route({
    url,
    method: app.supportedMethods.filter((method) => !supported.includes(method)) as HTTPMethods[], // of Fastify's own
    config: { operation, ...announced },
    // In a hook, because the body would be read before the handler runs.
    onRequest: refuseMethod,
    handler: refuseMethod,
  });

  async function refuseMethod({ method, params }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // For the methods of `/orders/:id`, `/orders/` is that path with an empty id; for others it has a slash too many.
    if (Object.values(params as Record<string, string>).includes('')) throw refusalOf('route_not_found');
    reply.header('allow', allow);
    if (method !== 'OPTIONS') throw refusalOf('method_not_allowed');
    return reply.code(204).send();
  }
}
