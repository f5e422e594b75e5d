import type { IncomingMessage } from 'node:http';
import {
  type AppRouter,
  type Context,
  procedureContracts,
  type Services,
  toApiError,
  trpcResponseMeta,
} from '@petstore/api';
import { resolveResponse } from '@trpc/server/http';
import type { RequestCost } from './admission.ts';
import type { Exchange } from './exchange.ts';
import { ClientGoneError, isPlainJson, readBody } from './request-body.ts';
import { JSON_TYPE } from './response-headers.ts';
import { UNMATCHED_TRPC } from './route-info.ts';
import { type PathParams, type Route, refuseUnknown, respondToOptions } from './router.ts';
import type { Streams } from './streams.ts';
import type { Subscriptions } from './subscriptions.ts';
import { TrpcLists } from './trpc-lists.ts';

export interface TrpcOptions {
  readonly router: AppRouter;
  readonly services: Services;
  readonly streams: Streams;
  readonly subscriptions: Subscriptions;
  readonly maxBodyBytes: number;
}

/** The calls that a URL below /trpc holds. */
interface TrpcCall {
  /** Percent-decoded, names joined by commas in a batch. */
  readonly path: string;
  readonly names: readonly string[];
  readonly isBatch: boolean;
}

/** Reads the calls from the URL alone: the batch is charged before its body is read. */
function readTrpcCall(path: string, url: string): TrpcCall {
  const query = url.indexOf('?');
  // By the same means, and so with the same result, as tRPC reads it.
  const isBatch = query !== -1 && new URLSearchParams(url.slice(query)).get('batch') === '1';
  return { path, names: isBatch ? path.split(',') : [path], isBatch };
}

const METHODS_OF = {
  query: 'GET, HEAD, OPTIONS',
  subscription: 'GET, HEAD, OPTIONS',
  mutation: 'POST, OPTIONS',
} as const;
const ANY_METHODS = 'GET, HEAD, POST, OPTIONS';

/** What concerns HTTP of a procedure. */
interface ProcedureFacts {
  readonly methods: (typeof METHODS_OF)[keyof typeof METHODS_OF];
  readonly isFree: boolean;
  /** Whether its response may be a long list. */
  readonly streams: boolean;
  readonly isSubscription: boolean;
}

const PROCEDURES: ReadonlyMap<string, ProcedureFacts> = new Map(
  [...procedureContracts].map(([name, { type, cost, streams = false }]) => [
    name,
    { methods: METHODS_OF[type], isFree: cost === 'free', streams, isSubscription: type === 'subscription' },
  ]),
);

/** What tRPC reads: how a caller reads a response in pieces, and where a subscription goes on. */
const READ_HEADERS = ['accept', 'trpc-accept', 'last-event-id'] as const;

/** The procedures over tRPC's HTTP protocol. */
export function trpcRoutes(options: TrpcOptions): readonly Route[] {
  const handler = new TrpcHandler(options);
  const pathOf = ({ '*': path = '' }: PathParams) => path;
  return [
    {
      path: '/trpc/*',
      info: UNMATCHED_TRPC,
      costOf: ({ url = '' }, params) => handler.costOf(pathOf(params), url),
      handlers: (exchange, params) => handler.handle(exchange, pathOf(params)),
    },
    { path: '/trpc', info: UNMATCHED_TRPC, handlers: refuseUnknown },
  ];
}

/**
 * What concerns HTTP is decided here, in the order that REST has too: path, method, media type, body. The rest is tRPC's
 * own `resolveResponse`, which all its adapters are made of.
 */
class TrpcHandler {
  readonly #options: TrpcOptions;
  readonly #procedures = PROCEDURES;

  constructor(options: TrpcOptions) {
    this.#options = options;
  }

  /**
   * How many calls there are, and how many are charged: a free one is free once in a batch, so that what it costs us is
   * bounded, too.
   *
   * @param path what follows /trpc/, percent-decoded
   */
  costOf(path: string, url: string): RequestCost {
    const { names } = readTrpcCall(path, url);
    const free = new Set(names.filter((name) => this.#procedures.get(name)?.isFree));
    return { calls: names.length, charged: names.length - free.size };
  }

  /** @param path what follows /trpc/, percent-decoded */
  async handle(exchange: Exchange, path: string): Promise<void> {
    const { request } = exchange;
    const call = readTrpcCall(path, request.url ?? '');
    const allow = this.#allowOf(call);
    if (allow === undefined) return exchange.refuse('route_not_found');
    exchange.operation = call.isBatch ? 'batch' : call.path;
    exchange.allow = allow;
    const { method = '' } = request;
    if (method === 'OPTIONS') return respondToOptions(exchange);
    if (!allow.split(', ').includes(method)) return exchange.refuse('method_not_allowed');
    if (method === 'POST' && !isPlainJson(request.headers)) return exchange.refuse('unsupported_media_type');
    if (!call.isBatch && this.#procedures.get(call.path)?.isSubscription === true) return this.#follow(exchange, call);
    try {
      await this.#respond(exchange, call);
    } catch (error) {
      if (!(error instanceof ClientGoneError)) throw error;
      exchange.abandon();
    }
  }

  /** The methods that all called procedures support; `undefined` where there is nothing to call. */
  #allowOf({ names, isBatch }: TrpcCall): string | undefined {
    let allow: string | undefined;
    for (const name of names) {
      const methods = this.#procedures.get(name)?.methods;
      // tRPC responds to each call of a batch for itself.
      if (methods === undefined) return isBatch ? ANY_METHODS : undefined;
      allow = allow === undefined || allow === methods ? methods : ANY_METHODS;
    }
    return allow;
  }

  async #respond(exchange: Exchange, call: TrpcCall): Promise<void> {
    const { router, services, streams, maxBodyBytes } = this.#options;
    const { request, response } = exchange;
    const body = request.method === 'POST' ? await readBody(request, response, maxBodyBytes) : undefined;
    const req = requestForTrpc(request, body);
    const streamsLists = (name: string) => this.#procedures.get(name)?.streams === true;
    const lists = new TrpcLists(exchange, streams, call.names.filter(streamsLists).length);
    const list = { isStreamed: isStreamed(req), begin: lists.begin };
    const trpcResponse = await resolveResponse({
      router,
      req,
      path: encodeURIComponent(call.path),
      error: null,
      createContext: async () => contextOf(exchange, services, list),
      responseMeta: trpcResponseMeta,
      onError({ error, path }) {
        if (path !== undefined && streamsLists(path)) lists.recordFailure();
        noteFailure(exchange, error);
      },
    });
    await this.#send(exchange, trpcResponse, lists);
  }

  #follow(exchange: Exchange, call: TrpcCall): Promise<void> {
    const { router, services, subscriptions } = this.#options;
    return subscriptions.send(exchange, (subscription) =>
      resolveResponse({
        router,
        req: requestForTrpc(exchange.request, undefined),
        path: encodeURIComponent(call.path),
        error: null,
        createContext: async () => ({ ...contextOf(exchange, services, undefined), subscription }),
        onError({ error }) {
          // Ended before it had begun: the error says just that.
          if (!subscription.signal.aborted) noteFailure(exchange, error);
        },
      }),
    );
  }

  async #send(exchange: Exchange, response: Response, lists: TrpcLists): Promise<void> {
    let contentType = '';
    let isStream = false;
    for (const [name, value] of response.headers) {
      if (name === 'content-type') contentType = value;
      // Node writes it by itself.
      else if (name === 'transfer-encoding') isStream = true;
      else exchange.setHeader(name, value);
    }
    const { status, body } = response;
    if (!isStream || body === null) return exchange.sendText(status, contentType, await response.text());
    const chunks = body[Symbol.asyncIterator]();
    if (exchange.isHead) exchange.sendHead(status, contentType);
    else if (!(await lists.mayBegin())) exchange.refuseCrowded();
    else if (await this.#options.streams.send(exchange, { status, contentType }, chunks)) return;
    await chunks.return?.();
  }
}

function noteFailure(exchange: Exchange, error: unknown): void {
  exchange.logFailure(error);
  exchange.countError(toApiError(error).errorCode);
}

function contextOf({ principal, requestId, rateLimit }: Exchange, services: Services, list: Context['list']): Context {
  if (principal === undefined) throw new Error('A procedure was called without a principal.');
  return {
    services,
    principal,
    requestId,
    ...(rateLimit && { rateLimit }),
    ...(list && { list }),
  };
}

/** Whether the response is to come in pieces, as tRPC finds it out. */
function isStreamed({ headers }: Request): boolean {
  const accepted = headers.get('trpc-accept') ?? headers.get('accept') ?? '';
  return accepted.split(',').some((type) => type.trim() === 'application/jsonl');
}

/** As much of the request as tRPC reads. The media type was checked before; that of an unread body does not count. */
function requestForTrpc(request: IncomingMessage, body: string | undefined): Request {
  const headers = new Headers();
  if (body !== undefined) headers.set('content-type', JSON_TYPE);
  for (const name of READ_HEADERS) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  const { url = '' } = request;
  const query = url.indexOf('?');
  return new Request(query === -1 ? 'http://trpc/' : `http://trpc/${url.slice(query)}`, {
    headers,
    ...(body !== undefined && { method: 'POST', body }),
  });
}
