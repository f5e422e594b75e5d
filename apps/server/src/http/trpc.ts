import {
  type AppRouter,
  acceptsPackedOrders,
  type Context,
  type ProcedureMeta,
  type Services,
  trpcResponseMeta,
} from '@petstore/api';
import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { resolveResponse } from '@trpc/server/http';
import type { Demand } from './admission.ts';
import { type Exchange, JSON_TYPE } from './exchange.ts';
import { sendChunks } from './json-stream.ts';
import { answerOptions } from './mount.ts';
import { ClientGoneError, isPlainJson, readBody } from './request-body.ts';
import { TrpcLists } from './trpc-lists.ts';

export interface TrpcOptions {
  readonly router: AppRouter;
  readonly services: Services;
  readonly maxBodyBytes: number;
}

/** What a URL below /trpc asks for. */
interface TrpcCall {
  /** Percent-decoded, names joined by commas in a batch. */
  readonly path: string;
  readonly names: readonly string[];
  readonly isBatch: boolean;
}

/** Reads what is asked for from the URL alone: the batch is charged before its body is read. */
function readTrpcCall(path: string, url: string): TrpcCall {
  const query = url.indexOf('?');
  // By the same means, and so with the same result, as tRPC reads it.
  const isBatch = query !== -1 && new URLSearchParams(url.slice(query)).get('batch') === '1';
  return { path, names: isBatch ? path.split(',') : [path], isBatch };
}

type ProcedureType = 'query' | 'mutation';
const METHODS_OF = {
  query: 'GET, HEAD, OPTIONS',
  mutation: 'POST, OPTIONS',
} as const satisfies Record<ProcedureType, string>;
const ANY_METHODS = 'GET, HEAD, POST, OPTIONS';

/** By which a caller tells that it reads an answer in pieces. */
const ACCEPT_HEADERS = ['accept', 'trpc-accept'] as const;

/**
 * Serves the procedures over tRPC's HTTP protocol. What concerns HTTP is decided here, in the order that REST has too:
 * path, method, media type, body. The rest is tRPC's own `resolveResponse`, which all its adapters are made of.
 */
export class TrpcHandler {
  readonly #options: TrpcOptions;
  readonly #types: ReadonlyMap<string, ProcedureType>;
  readonly #free: ReadonlySet<string>;
  /** Those whose responses may be long lists. */
  readonly #streaming: ReadonlySet<string>;

  constructor(options: TrpcOptions) {
    this.#options = options;
    this.#types = procedureTypes(options.router);
    this.#free = proceduresWith(options.router, ({ cost }) => cost === 'free');
    this.#streaming = proceduresWith(options.router, ({ streams }) => streams === true);
  }

  /**
   * How many calls there are, and how many are charged: a free one is free once in a batch, so that what it costs us is
   * bounded, too.
   *
   * @param path what follows /trpc/, percent-decoded
   */
  demandOf(path: string, url: string): Demand {
    const { names } = readTrpcCall(path, url);
    let charged = names.length;
    for (const name of this.#free) if (names.includes(name)) charged--;
    return { calls: names.length, charged };
  }

  /** @param path what follows /trpc/, percent-decoded */
  handle(exchange: Exchange, path: string): void {
    const call = readTrpcCall(path, exchange.request.url ?? '');
    const allow = this.#allowOf(call);
    if (allow === undefined) {
      exchange.refuse('route_not_found');
      return;
    }
    exchange.operation = call.isBatch ? 'batch' : call.path;
    exchange.allow = allow;
    const method = exchange.request.method ?? '';
    if (method === 'OPTIONS') answerOptions(exchange);
    else if (!allow.split(', ').includes(method)) exchange.refuse('method_not_allowed');
    else if (method === 'POST' && !isPlainJson(exchange)) exchange.refuse('unsupported_media_type');
    else
      this.#answer(exchange, call).catch((error: unknown) => {
        if (error instanceof ClientGoneError) exchange.abandon();
        else exchange.fail(error);
      });
  }

  /** The methods that all called procedures support; `undefined` where there is nothing to call. */
  #allowOf({ names, isBatch }: TrpcCall): string | undefined {
    let allow: string | undefined;
    for (const name of names) {
      const type = this.#types.get(name);
      // tRPC answers each call of a batch for itself.
      if (type === undefined) return isBatch ? ANY_METHODS : undefined;
      const methods = METHODS_OF[type];
      allow = allow === undefined || allow === methods ? methods : ANY_METHODS;
    }
    return allow;
  }

  async #answer(exchange: Exchange, call: TrpcCall): Promise<void> {
    const { router, services, maxBodyBytes } = this.#options;
    const isPost = exchange.request.method === 'POST';
    const body = isPost ? await readBody(exchange, maxBodyBytes) : undefined;
    const req = requestForTrpc(exchange, body);
    const lists = new TrpcLists(exchange, call.names.filter((name) => this.#streaming.has(name)).length);
    const beginList = isStreamed(req) && !exchange.isHead ? lists.begin : undefined;
    const response = await resolveResponse({
      router,
      req,
      path: encodeURIComponent(call.path),
      error: null,
      createContext: async () => contextOf(exchange, services, beginList),
      responseMeta: trpcResponseMeta,
      onError: ({ error, path }) => {
        if (path !== undefined && this.#streaming.has(path)) lists.recordFailure();
        exchange.logFailure(error);
      },
    });
    await sendResponse(exchange, response, lists);
  }
}

function procedureTypes(router: AnyTRPCRouter): ReadonlyMap<string, ProcedureType> {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  const types = new Map<string, ProcedureType>();
  for (const [name, { _def }] of Object.entries(procedures)) {
    if (_def.type === 'subscription') throw new Error(`${name}: subscriptions are not served.`);
    types.set(name, _def.type);
  }
  return types;
}

function proceduresWith(router: AnyTRPCRouter, matches: (meta: ProcedureMeta) => boolean): ReadonlySet<string> {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  const metaOf = ({ _def }: AnyTRPCProcedure) => (_def.meta ?? {}) as ProcedureMeta; // its router's metadata
  return new Set(Object.keys(procedures).filter((name) => procedures[name] && matches(metaOf(procedures[name]))));
}

function contextOf(
  { principal, request, requestId, standing }: Exchange,
  services: Services,
  beginList: Context['beginList'],
): Context {
  if (principal === undefined) throw new Error('A procedure was called on behalf of nobody.');
  return {
    services,
    principal,
    requestId,
    acceptsPackedOrders: acceptsPackedOrders(request.url),
    ...(standing && { standing }),
    ...(beginList && { beginList }),
  };
}

/** Finds out as tRPC does whether an answer is to come in pieces. */
function isStreamed({ headers }: Request): boolean {
  const accepted = headers.get('trpc-accept') ?? headers.get('accept') ?? '';
  return accepted.split(',').some((type) => type.trim() === 'application/jsonl');
}

/** As much of the request as tRPC reads. The media type is checked before; that of a body nobody reads does not count. */
function requestForTrpc(exchange: Exchange, body: string | undefined): Request {
  const { request } = exchange;
  const headers = new Headers();
  if (body !== undefined) headers.set('content-type', JSON_TYPE);
  for (const name of ACCEPT_HEADERS) {
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

async function sendResponse(exchange: Exchange, response: Response, lists: TrpcLists): Promise<void> {
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
  if (exchange.isHead) exchange.sendHead(status, contentType);
  else if (!(await lists.mayBegin())) exchange.refuseCrowded();
  else if (exchange.openStream(status, contentType)) return sendChunks(exchange, body[Symbol.asyncIterator]());
  await body.cancel();
}
