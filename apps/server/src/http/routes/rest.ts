import { type ApiVersion, deprecationHeaders, type RestRoute, restRoutes } from '@petstore/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { AppOptions } from '../app-options.ts';
import { CallContext } from '../call-context.ts';
import type { DeprecatedOperation } from '../observe.ts';
import { refuseUnknownPath, sendJson } from '../responses.ts';
import type { LongLists } from '../streams/long-lists.ts';
import type { WaitingCalls } from '../streams/waiting-calls.ts';
import { addPath } from './add-path.ts';

export interface RestOptions extends Pick<AppOptions, 'services'> {
  readonly version: ApiVersion;
  readonly longLists: LongLists;
  readonly waitingCalls: WaitingCalls;
}

/** The documented operations of one version, to be registered with its prefix. */
export const rest = fp<RestOptions>(
  async (app, { version, services, longLists, waitingCalls }) => {
    app.setNotFoundHandler(refuseUnknownPath); // after the checks of this scope
    const ofVersion = restRoutes.filter(({ apiVersion }) => apiVersion === version);
    for (const [path, routes] of Map.groupBy(ofVersion, ({ path }) => path)) {
      const [operation = 'unknown'] = routes.map(({ operationId }) => operationId);
      addPath(
        app,
        path.replaceAll(/\{(\w+)\}/g, ':$1'),
        { operation, deprecated: deprecatedOf(routes, services.petsSunsetAt) },
        routes.map((route) => ({
          method: route.method,
          operation: route.operationId,
          handler: (request, reply) => serve(route, request, reply),
        })),
      );
    }

    async function serve(route: RestRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const wait = request.method === 'HEAD' ? undefined : waitingCalls.waitOf(request, reply);
      const context = new CallContext({ services, delivery: { type: 'in-process' }, wait }, request, reply);
      const query = route.takesQuery ? queryOf(request) : '';
      const result = await route.call(request.params as Record<string, string>, context, query);
      reply.code(route.successStatus);
      switch (result.type) {
        case 'empty':
          return reply.send();
        case 'json':
          return sendJson(reply, result.text);
        case 'json-stream':
          return longLists.send(request, reply, result.pieces);
        default:
          return result satisfies never;
      }
    }
  },
  { name: 'rest', dependencies: ['admission'], encapsulate: true },
);

const deprecatedOf = (routes: readonly RestRoute[], sunsetAt: Date): readonly DeprecatedOperation[] =>
  routes.flatMap(({ operationId, apiVersion, method, path, deprecation }) => {
    if (deprecation === undefined) return [];
    return {
      operation: operationId,
      methods: new Set(method === 'GET' ? ['GET', 'HEAD'] : [method]),
      headers: deprecationHeaders({ ...deprecation, sunsetAt }, `/${apiVersion}${path}`),
    };
  });

/** The text after the question mark. */
const queryOf = ({ url }: FastifyRequest): string => /\?(.*)/.exec(url)?.[1] ?? '';
