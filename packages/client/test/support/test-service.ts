import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  appRouter,
  type Context,
  type ErrorResponse,
  errorResponse,
  type RestResult,
  restRoutes,
  toErrorResponse,
  toTrpcEnvelope,
  trpcResponseMeta,
} from '@petstore/api';
import { type ApiKeyId, type ApiKeyPrincipal, LIMIT_MAX, type RequestLimits, subjectNameOf } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { InProcessLimiter, rateLimitHeaders } from '@petstore/rate-limit';
import { createTestDatabase, PATIENCE_MS, startHttpServer } from '@petstore/testing';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';

/**
 * What becomes of one request:
 * - `lose-response`: it is handled, and then the connection is gone
 * - `cut-response`: the connection is gone when the first piece of the response is sent
 * - `overloaded`, `unavailable`: the response says so, and it is not handled
 */
export type Fault = 'lose-response' | 'cut-response' | 'overloaded' | 'unavailable';

/** The real procedures and REST routes on a real database. Its two keys stand for the service's door. */
export interface TestService extends AsyncDisposable {
  readonly origin: string;
  readonly persistence: Persistence;
  /** What came: method and URL, in order. */
  readonly requests: string[];
  /** Breaks every connection. */
  endConnections(): void;
  /** How many responses are neither complete nor cut off. */
  openResponses(): number;
  /** What becomes of the next requests, one for each; when there is none, all goes well. */
  readonly faults: Fault[];
}

export interface TestServiceOptions {
  /** Under which limits requests are admitted. @default such as no test reaches */
  readonly limits?: RequestLimits;
  /** Milliseconds since the epoch, for the limits. @default Date.now */
  readonly nowMs?: () => number;
}

const EXTERNAL = { kind: 'external', readOnly: false } as const;
const KEYS: Readonly<Record<string, Pick<ApiKeyPrincipal, 'kind' | 'readOnly'>>> = {
  'Bearer internal': { kind: 'internal', readOnly: false },
  'Bearer external': EXTERNAL,
  'Bearer read-only': { kind: 'external', readOnly: true },
};
/** The service goes by the real time, and these tests are to pass in any year. */
const NEVER = new Date('9999-12-31T00:00:00Z');
const KEY_CREATED_AT = new Date('2026-10-01T12:00:00.000Z');
const KEY_ID = '12345678' as ApiKeyId; // never looked up, and no number for all its digits

export async function startTestService({
  limits = { perMinute: LIMIT_MAX, perDay: LIMIT_MAX },
  nowMs = Date.now,
}: TestServiceOptions = {}): Promise<TestService> {
  const database = await createTestDatabase({
    template: {
      name: 'migrated',
      async prepare(databaseUrl) {
        await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
        await persistence.migrations.migrate();
      },
    },
  });
  const persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  const requests: string[] = [];
  const faults: Fault[] = [];
  let openResponses = 0;
  const limiter = new InProcessLimiter({ nowMs });
  const handle = createHandler(persistence, limiter, limits);
  const admit = createAdmission(limiter, limits);
  const server = await startHttpServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    openResponses++;
    response.once('close', () => openResponses--);
    response.setHeader('x-request-id', `request-${requests.length}`);
    const fault = faults.shift();
    if (fault !== undefined) inflict(fault, response);
    if (KEYS[request.headers.authorization ?? ''] === undefined)
      refuse(request, response, errorResponse('invalid_api_key'));
    else if (fault === 'overloaded') refuse(request, response, errorResponse('overloaded'));
    else if (fault === 'unavailable') refuse(request, response, errorResponse('service_unavailable'));
    else if (admit(request, response)) handle(request, response);
  });
  return {
    origin: server.origin,
    persistence,
    requests,
    endConnections: server.closeConnections,
    openResponses: () => openResponses,
    faults,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await persistence.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

function createHandler({ orders, pets, events }: Persistence, limiter: InProcessLimiter, limits: RequestLimits) {
  const services = {
    orders,
    announceEvents() {},
    pets,
    events,
    limiter,
    clock: () => new Date(),
    petsSunsetAt: NEVER,
  };
  const plan = { name: 'enterprise', limits } as const;
  const contextOf = ({ headers }: IncomingMessage, response: ServerResponse): Context => {
    const permissions = KEYS[headers.authorization ?? ''] ?? EXTERNAL;
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    return {
      services,
      requestId: 'test',
      signal: closed.signal,
      principal: { type: 'api-key', keyId: KEY_ID, ...permissions, plan, name: 'test', createdAt: KEY_CREATED_AT },
      delivery: { type: 'in-process' },
      async wait(durationMs, work) {
        const over = new AbortController();
        const timer = setTimeout(() => over.abort(), durationMs);
        return work(AbortSignal.any([over.signal, closed.signal])).finally(() => clearTimeout(timer));
      },
    };
  };
  const handleTrpc = createHTTPHandler({
    router: appRouter,
    basePath: '/trpc/',
    createContext: ({ req, res }) => ({
      ...contextOf(req, res),
      delivery:
        req.headers['trpc-accept'] === 'application/jsonl'
          ? { type: 'batches', begin: async (batches) => batches }
          : { type: 'array', takeTurn: (read) => read(0) },
    }),
    responseMeta: trpcResponseMeta,
  });
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.startsWith('/trpc/')) handleTrpc(request, response);
    else
      callRest(request, contextOf(request, response)).then(
        (result) => answerRest(response, result),
        (error: unknown) => refuse(request, response, toErrorResponse(error)),
      );
  };
}

/** Of the real routes the one that fits. */
async function callRest({ method, url = '' }: IncomingMessage, context: Context): Promise<RestResult> {
  const [path = '', query] = url.split('?');
  for (const route of restRoutes) {
    const pattern = new RegExp(`^/${route.apiVersion}${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]*)')}$`);
    const match = pattern.exec(path);
    if (route.method === method && match !== null) return route.call({ ...match.groups }, context, query);
  }
  throw new Error(`There is no route for ${method} ${url}.`);
}

async function answerRest(response: ServerResponse, result: RestResult): Promise<void> {
  switch (result.type) {
    case 'empty':
      response.writeHead(204).end();
      return;
    case 'json':
      response.writeHead(200, { 'content-type': 'application/json' }).end(result.text);
      return;
    case 'json-stream':
      response.writeHead(200, { 'content-type': 'application/json' });
      // Closed connections are not waited for.
      await pipeline(textsOf(result.pieces), response).catch(() => response.destroy());
      return;
    default:
      result satisfies never;
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, answer: ErrorResponse): void {
  const isTrpc = request.url?.startsWith('/trpc/');
  response
    .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    .end(isTrpc ? toTrpcEnvelope(answer.code) : answer.body);
}

/** The door, with the real limiter and the real headers. A batch costs the number of its calls. */
function createAdmission(limiter: InProcessLimiter, limits: RequestLimits) {
  const subject = { name: subjectNameOf(KEY_ID), ...limits };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const decision = limiter.check(subject, query.includes('batch=1') ? path.split(',').length : 1);
    for (const [name, value] of Object.entries(rateLimitHeaders(decision))) response.setHeader(name, value);
    if (decision.outcome === 'admitted') return true;
    refuse(request, response, errorResponse(decision.outcome === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded'));
    return false;
  };
}

function inflict(fault: Fault, response: ServerResponse): void {
  const cut = () => response.socket?.destroy();
  if (fault === 'cut-response') {
    const write = response.write.bind(response);
    // The piece goes out, and nothing after it.
    response.write = (chunk: unknown) => write(chunk, 'utf8', cut);
  }
  if (fault !== 'lose-response') return;
  response.writeHead = () => response;
  response.write = () => true;
  response.end = () => {
    cut();
    return response;
  };
}

async function* textsOf(pieces: AsyncIterable<{ readonly text: string }>) {
  for await (const { text } of pieces) yield text;
}
