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
import { type Exchange, JSON_TYPE } from './exchange.ts';
import { sendChunks } from './json-stream.ts';
import { answerOptions } from './mount.ts';
import { ClientGoneError, isPlainJson, readBody } from './request-body.ts';

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

/** Procedures whose answers may be long. Whatever else is asked for by a streaming link is over in a moment. */
const LISTING_PROCEDURES: ReadonlySet<string> = new Set(['orders.list']);

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

  constructor(options: TrpcOptions) {
    this.#options = options;
    this.#types = procedureTypes(options.router);
    this.#free = freeProcedures(options.router);
  }

  /**
   * How many calls are charged. A free one is free once in a batch, so that what it costs us is bounded, too.
   *
   * @param path what follows /trpc/, percent-decoded
   */
  costOf(path: string, url: string): number {
    const { names } = readTrpcCall(path, url);
    let cost = names.length;
    for (const name of this.#free) if (names.includes(name)) cost--;
    return cost;
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
    const response = await resolveResponse({
      router,
      req: requestForTrpc(exchange, body),
      path: encodeURIComponent(call.path),
      error: null,
      createContext: async () => contextOf(exchange, services),
      responseMeta: trpcResponseMeta,
      onError: ({ error }) => exchange.logFailure(error),
    });
    await sendResponse(exchange, response, call.names.filter((name) => LISTING_PROCEDURES.has(name)).length);
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

function freeProcedures(router: AnyTRPCRouter): ReadonlySet<string> {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  const isFree = ([, { _def }]: [string, AnyTRPCProcedure]) =>
    (_def.meta as ProcedureMeta | undefined)?.cost === 'free'; // its router's metadata
  return new Set(
    Object.entries(procedures)
      .filter(isFree)
      .map(([name]) => name),
  );
}

function contextOf({ principal, request, requestId }: Exchange, services: Services): Context {
  if (principal === undefined) throw new Error('A procedure was called on behalf of nobody.');
  return { services, principal, requestId, acceptsPackedOrders: acceptsPackedOrders(request.url) };
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

async function sendResponse(exchange: Exchange, response: Response, listings: number): Promise<void> {
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
  else if (exchange.openStream(status, contentType, listings))
    return sendChunks(exchange, body[Symbol.asyncIterator]());
  await body.cancel();
}
