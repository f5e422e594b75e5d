import type { OpenApiRouter } from 'trpc-to-openapi';
import type { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import type { QueryTexts } from './query.ts';
import type { RestContext } from './rest-procedure.ts';
import type { RestReply, RestResult } from './rest-route.ts';

// Everything that serving by trpc-to-openapi takes besides its public API, each with its reason:
//
// - It is called with a request that was made for it, not with Node's. Fastify has matched the path and read the URL before,
//   and its own plugin would register one route for all paths. The handler makes a `Request` of anything that is none, with
//   all headers, for its signal alone; making one costs as much as the call. So it gets an object of that prototype:
//   {@link HandledRequest}.
// - A segment of the path that could not be the value of any parameter becomes a blank: {@link segmentOf}.
// - The query is handed over decoded: `query.ts`. The handler's own reader responds to `?constructor=1` with 500, and takes
//   escapes that are none for text.
// - What the handler writes is read: its text for a success, and its error in place of its text for a failure, which has no
//   code of ours. A list that is streamed goes past it.
// - It is imported while the databases connect, because it brings adapters for six frameworks with their libraries.

const library = importHandler();

async function importHandler() {
  const { createOpenApiNodeHttpHandler } = await import('trpc-to-openapi');
  return createOpenApiNodeHttpHandler;
}

// No operation has a body. The handler reads one for every POST, if this is its type: an empty object in its place.
const HEADERS = new Headers({ 'content-type': 'application/json' });
const NO_BODY = {};

interface RestCall {
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  /** Percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryTexts;
  readonly context: Context;
}

/** What the handler reads of a request, and what we read of it in the handler's callbacks. */
class HandledRequest {
  readonly method: string;
  readonly url: string;
  readonly headers = HEADERS;
  readonly body = NO_BODY;
  readonly signal = undefined; // it would be in an argument of `createContext` that ours does not take
  readonly query: QueryTexts;
  readonly context: RestContext;
  readonly fail: (error: ApiError) => void;

  constructor({ method, path, params, query, context }: RestCall, reply: RestReply, fail: (error: ApiError) => void) {
    this.method = method;
    this.url = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(params[name]));
    this.query = query;
    this.context = { context, reply };
    this.fail = fail;
  }
}
Object.setPrototypeOf(HandledRequest.prototype, Request.prototype);

/**
 * Serves the procedures of a router.
 *
 * @param convert gives the error that the caller may see
 * @returns a function that calls one of them, and rejects with an ApiError
 */
export function createRestHandler(
  router: OpenApiRouter,
  convert: (error: unknown) => ApiError,
): (call: RestCall) => Promise<RestResult> {
  const handler = library.then((createOpenApiNodeHttpHandler) => {
    const options = {
      router,
      createContext: async ({ req }: { readonly req: HandledRequest }) => req.context,
      onError: ({ error, req }: { readonly error: unknown; readonly req: HandledRequest }) => req.fail(convert(error)),
    };
    return createOpenApiNodeHttpHandler(options as never); // its types name Node's requests; it takes these, too
  });

  return async (call) => {
    const handle = await handler;
    const { promise, resolve, reject } = Promise.withResolvers<RestResult>();
    const reply: RestReply = {};
    const request = new HandledRequest(call, reply, reject);
    const response = {
      statusCode: 200,
      setHeader() {},
      end: (text: string | undefined) => resolve(resultOf(text, reply)),
    };
    handle(request as never, response as never).catch(reject); // as above
    return promise;
  };
}

/**
 * The handler does not decode segments, and a URL has none that is empty or made of dots: `/store/orders/%2e` would reach the
 * list. No parameter has a value that needs an escape, and none takes a blank.
 */
const segmentOf = (value = ''): string => (/^[\w-]+$/.test(value) ? value : '%20');

function resultOf(text: string | undefined, { pieces }: RestReply): RestResult {
  if (pieces !== undefined) return { type: 'json-stream', pieces };
  return text === undefined ? { type: 'empty' } : { type: 'json', text };
}
