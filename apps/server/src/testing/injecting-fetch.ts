import { Readable } from 'node:stream';
import type { FastifyInstance, InjectOptions } from 'fastify';

/** Statuses of responses that have no body, for which `Response` accepts none. */
const BODILESS = new Set([204, 304]);

/** What a `baseUrl` puts before the paths of the service. A second version in the path is as wrong here as on a server. */
const BEFORE_SERVICE = /^.*?(?=\/(?:v\d+|trpc)\/)/;

/**
 * A `fetch` whose requests go to an app in this process, whatever their origin, without a connection. Responses stream as
 * those of the global `fetch`, and end when their reader leaves or the signal aborts. It follows no redirect.
 */
export function createInjectingFetch(app: FastifyInstance): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    // The request's own signal ends with the request, which nobody keeps while its response is read.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : new AbortController().signal);
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    try {
      return await Promise.race([respond(app, request, signal), aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };
}

async function respond(app: FastifyInstance, request: Request, signal: AbortSignal): Promise<Response> {
  const { host, pathname, search } = new URL(request.url);
  const payload = Buffer.from(await request.arrayBuffer());
  const injected = await app
    .inject({
      method: request.method as NonNullable<InjectOptions['method']>, // one that exists: `Request` refuses others
      url: pathname.replace(BEFORE_SERVICE, '') + search,
      headers: { ...Object.fromEntries(request.headers), host },
      payloadAsStream: true,
      ...(payload.length > 0 && { payload }),
    })
    .catch((cause: unknown) => Promise.reject(new TypeError('fetch failed', { cause })));
  const { statusCode: status, statusMessage: statusText, raw } = injected;
  const headers = headersOf(injected.headers);
  const stream = injected.stream();
  if (BODILESS.has(status) || request.method === 'HEAD') return new Response(null, { status, statusText, headers });
  const onAbort = () => stream.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  stream.once('close', () => {
    signal.removeEventListener('abort', onAbort);
    raw.res.destroy(); // the app would not know that its reader has left
  });
  if (signal.aborted) onAbort();
  return new Response(Readable.toWeb(stream) as ReadableStream, { status, statusText, headers }); // the same, to Node
}

function headersOf(fields: Readonly<Record<string, number | string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value].flat()) if (each !== undefined) headers.append(name, String(each));
  }
  return headers;
}
