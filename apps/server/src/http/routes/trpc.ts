import { Readable } from 'node:stream';
import {
  appRouter,
  type Context,
  deprecationHeaders,
  procedureContracts,
  refusalOf,
  toTrpcEnvelope,
  trpcResponseMeta,
} from '@petstore/api';
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import type { TRPCRequestInfo } from '@trpc/server/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { AppOptions } from '../app-options.ts';
import { CallContext } from '../call-context.ts';
import type { DeprecatedOperation } from '../observe.ts';
import { addVary, errorHandler, refuseUnknownPath, reportError } from '../responses.ts';
import type { LongLists } from '../streams/long-lists.ts';
import type { WaitingCalls } from '../streams/waiting-calls.ts';

export interface TrpcOptions extends Pick<AppOptions, 'services' | 'metrics'> {
  readonly longLists: LongLists;
  readonly waitingCalls: WaitingCalls;
}

const READ = 'GET, OPTIONS';
/** The methods of a procedure, as the Allow header lists them. */
const METHODS_OF = { query: READ, mutation: 'POST, OPTIONS' } as const;
const ANY_METHODS = 'GET, POST, OPTIONS';

const IS_JSON = /^application\/json[ \t]*(?:;|$)/i;
const IS_PLAIN = /^(?:identity)?$/i;

/**
 * The procedures over tRPC's HTTP protocol, to be registered with their prefix. Hooks check the HTTP request in the same
 * order as REST: path, method, media type, body. tRPC does the rest.
 */
export const trpc = fp<TrpcOptions>(
  async (app, options) => {
    const { services, metrics, longLists, waitingCalls } = options;
    app.setErrorHandler(errorHandler(metrics, (response, error) => ({ ...response, body: toTrpcEnvelope(error) })));
    app.setNotFoundHandler(refuseUnknownPath);
    const deprecated = deprecatedUnder(app.prefix, services.petsSunsetAt);
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));

    // If no body was announced, its stream has ended before anybody could listen for the end: also of unknown paths.
    app.addHook('preParsing', async (_request, _reply, payload) =>
      payload.readableEnded ? Readable.from([]) : payload,
    );

    app.addHook('onSend', async (request, reply, payload) => {
      longLists.endTurn(request);
      if (!(payload instanceof Response)) return payload;
      const { isStream } = takeHead(reply, payload);
      return isStream ? payload.body : payload.text();
    });

    app.route({
      url: '/:path',
      method: app.supportedMethods as 'GET'[], // all there are; the type is a union of names
      config: {
        operation: (request) => operationOf(callOf(request)),
        countCalls: (request) => callOf(request).names.length,
        deprecated: (request) => callOf(request).names.flatMap((name) => deprecated.get(name) ?? []),
      },
      async onRequest(request, reply) {
        const call = callOf(request);
        const allow = allowOf(call);
        if (allow === undefined) throw refusalOf('route_not_found');
        if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send();
        assertMethodAndType(request, reply, allow);
        return undefined;
      },
      handler: (request, reply) => {
        // tRPC refuses a query by the type of a body, which a GET does not have.
        if (request.method === 'GET') delete request.headers['content-type'];
        return fastifyRequestHandler({
          router: appRouter,
          req: request,
          res: reply,
          path: encodeURIComponent(callOf(request).path), // tRPC decodes it
          createContext: async ({ info }) => createContext(request, reply, info),
          responseMeta: trpcResponseMeta,
          onError: ({ error }) => void reportError(request, error, metrics),
        });
      },
    });

    function createContext(request: FastifyRequest, reply: FastifyReply, info: TRPCRequestInfo): Context {
      const delivery = longLists.deliveryOverTrpc(request, reply, info);
      const wait = info.calls.length === 1 ? waitingCalls.waitOf(request, reply) : undefined;
      return new CallContext({ services, delivery, wait }, request, reply);
    }
  },
  { name: 'trpc', dependencies: ['admission'], encapsulate: true },
);

/** The deprecated procedures, by name. Their headers are set before tRPC runs, so that streamed responses have them, too. */
const deprecatedUnder = (prefix: string, sunsetAt: Date): ReadonlyMap<string, DeprecatedOperation> =>
  new Map(
    [...procedureContracts].flatMap(([name, { type, deprecation }]) => {
      if (deprecation === undefined) return [];
      const methods = new Set(METHODS_OF[type].split(', ').filter((method) => method !== 'OPTIONS')); // which calls nothing
      const headers = deprecationHeaders({ ...deprecation, sunsetAt }, `${prefix}/${name}`);
      return [[name, { operation: name, methods, headers }]];
    }),
  );

/** Copies the status and the headers of a response that tRPC made. */
function takeHead(reply: FastifyReply, { status, headers }: Response) {
  const isStream = headers.has('transfer-encoding');
  for (const name of ['connection', 'transfer-encoding']) headers.delete(name); // Node decides on these by itself
  const { vary, ...others } = Object.fromEntries(headers);
  addVary(reply, vary);
  reply.code(status).headers(others);
  return { isStream };
}

function assertMethodAndType({ method, headers }: FastifyRequest, reply: FastifyReply, allow: string): void {
  if (!allow.split(', ').includes(method)) {
    reply.header('allow', allow);
    throw refusalOf('method_not_allowed');
  }
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = headers;
  if (method === 'POST' && !(IS_JSON.test(type) && IS_PLAIN.test(encoding))) throw refusalOf('unsupported_media_type');
}

/** The calls in a URL below the prefix. */
interface TrpcCall {
  /** Percent-decoded; in a batch, names joined by commas. */
  readonly path: string;
  readonly names: readonly string[];
  readonly isBatch: boolean;
}

/** Reads the calls from the URL alone: a batch is charged before its body is read. */
function callOf({ params, url }: FastifyRequest): TrpcCall {
  const { path } = params as { path: string }; // the route has it
  const query = url.indexOf('?');
  // Parsed in the same way as in tRPC, so with the same result.
  const isBatch = query !== -1 && new URLSearchParams(url.slice(query)).get('batch') === '1';
  return { path, names: isBatch ? path.split(',') : [path], isBatch };
}

function operationOf({ path, isBatch }: TrpcCall): string {
  if (isBatch) return 'batch';
  return procedureContracts.has(path) ? path : 'unknown';
}

/** The methods that all called procedures support; `undefined` if there is nothing to call. */
function allowOf({ names, isBatch }: TrpcCall): string | undefined {
  const methods = new Set<string>();
  for (const name of names) {
    const contract = procedureContracts.get(name);
    // tRPC responds to each call of a batch separately.
    if (contract === undefined) return isBatch ? ANY_METHODS : undefined;
    methods.add(METHODS_OF[contract.type]);
  }
  return methods.size === 1 ? [...methods][0] : ANY_METHODS;
}
