import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { StorageUnavailableError } from '@petstore/domain';
import { TRPCError } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import superjson, { type SuperJSONResult } from 'superjson';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ApiError,
  appRouter,
  ERROR_CATALOGUE,
  type ErrorCode,
  errorResponse,
  failureOf,
  INTERNAL_ONLY,
  refusalOf,
  type TrpcErrorShape,
  toApiError,
  toErrorResponse,
  toTrpcEnvelope,
  trpcResponseMeta,
} from '../src/index.ts';
import { cancelledOrder, EXTERNAL, pendingOrder, READ_ONLY, startTestApi, type TestApi } from './test-api.ts';

const CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // the catalogue's own keys

describe('a response over REST', () => {
  test('holds exactly code, message and status', () => {
    for (const code of CODES) {
      const { status, message } = ERROR_CATALOGUE[code];
      for (const answer of [errorResponse(code), toErrorResponse(new ApiError(code))]) {
        expect(JSON.parse(answer.body)).toStrictEqual({ code, message, status });
        expect(answer).toMatchObject({ code, message, status });
      }
    }
  });

  test('has the message of an error that differs from the catalogue', () => {
    const { body } = toErrorResponse(new ApiError('invalid_request', 'orderId: no.'));
    expect(JSON.parse(body)).toStrictEqual({ code: 'invalid_request', message: 'orderId: no.', status: 400 });
  });
});

describe('whatever is thrown', () => {
  test.each([
    ['an error of ours', new Error('select * from secrets')],
    ['nothing', undefined],
    ['an object', { code: 'order_not_found', message: 'secret' }],
    ['what tRPC wraps', new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: new Error('secret') })],
    ["what fails a procedure's own output check", new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: 'secret' })],
  ])('gets a bland response: %s', (_, thrown) => {
    const { code, body, status } = toErrorResponse(thrown);
    expect([code, status]).toEqual(['internal_error', 500]);
    expect(body).not.toContain('secret');
  });

  test('is reported to the operator as it was thrown', () => {
    const cause = new Error('select');
    expect(failureOf(cause)).toEqual({ severity: 'error', cause });
    expect(failureOf(new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause }))).toEqual({ severity: 'error', cause });
  });

  test('because a store is away is service_unavailable, however deep it lies', () => {
    const away = new StorageUnavailableError('connection refused at 10.0.0.1');
    for (const thrown of [away, new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: away })]) {
      expect(toErrorResponse(thrown)).toEqual(errorResponse('service_unavailable'));
      expect(failureOf(thrown)).toEqual({ severity: 'warn', cause: away });
    }
  });

  test('for the caller alone is nothing to the operator', () => {
    for (const code of CODES.filter((c) => ERROR_CATALOGUE[c].status < 500)) {
      expect(failureOf(new ApiError(code))).toBeUndefined();
    }
  });

  test('by tRPC has a code of ours, and says none of its words', () => {
    // The table's own keys.
    for (const code of Object.keys(TRPC_ERROR_CODES_BY_KEY) as TRPC_ERROR_CODE_KEY[]) {
      const { errorCode, message } = toApiError(new TRPCError({ code, message: 'secret' }));
      expect(ERROR_CATALOGUE[errorCode].message).toBe(message);
    }
  });

  test('by zod names a field once, however many of its values are wrong', () => {
    const { error } = z.object({ a: z.array(z.int('must be whole')) }).safeParse({ a: [0.5, 1, 1.5] });
    expect(toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: error })).message).toBe('a: must be whole.');
  });

  test('by zod names at most five issues, and no value', () => {
    const field = z.int().max(3);
    const schema = z.strictObject({ a: field, b: field, c: field, d: field, e: field, f: z.enum(['x']) });
    const { error } = schema.safeParse({ a: 9, b: 9, c: 9, d: 9, e: 9, f: 'secret', secret: 1 });
    const { message } = toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: error }));
    expect(message).toMatch(/^a: [^;]*; b: [^;]*; c: [^;]*; d: [^;]*; e: [^;]*; and 2 more\.$/);
    expect(message).not.toContain('secret');
    const unknown = schema.safeParse({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 'x', secret: 1 }).error;
    expect(toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: unknown })).message).toBe(
      'The input: contains an unknown field.',
    );
  });
});

describe('a refusal', () => {
  const ID = 20n;
  let own: TestApi;
  beforeAll(async () => {
    own = await startTestApi();
    await own.importOrders(cancelledOrder(ID));
  });
  afterAll(() => own[Symbol.asyncDispose]());

  test.each<[string, ErrorCode, () => Promise<unknown>]>([
    ['an order that does not exist', 'order_not_found', () => own.callAs(EXTERNAL).orders.get({ orderId: 404n })],
    ['that, over REST', 'order_not_found', () => own.callRest('cancelOrder', { orderId: '404' })],
    ['a pet that does not exist', 'pet_not_found', () => own.callAs(EXTERNAL).pets.get({ petId: 404n })],
    ['an order that was cancelled', 'order_already_cancelled', () => own.callRest('cancelOrder', { orderId: `${ID}` })],
    [
      'a read-only key',
      'insufficient_scope',
      () => own.callRest('cancelOrder', { orderId: '1' }, undefined, READ_ONLY),
    ],
  ])('for %s is made once, and nobody can change it', async (_, code, call) => {
    const thrown = await call().catch((error: unknown) => error);
    expect(thrown).toBe(refusalOf(code));
    expect(Object.isFrozen(thrown)).toBe(true);
  });

  test('for an external key says whom to ask, and is made once, too', async () => {
    const refuse = () =>
      own
        .callAs(EXTERNAL)
        .orders.ship({ orderId: 1n })
        .catch((error: unknown) => error);
    const thrown = await refuse();
    expect(thrown).toMatchObject({ errorCode: 'insufficient_scope', message: INTERNAL_ONLY });
    expect(await refuse()).toBe(thrown);
    expect(Object.isFrozen(thrown)).toBe(true);
  });
});

/** The router behind tRPC's own HTTP server, without any admission before it. */
interface TrpcServer extends AsyncDisposable {
  readonly url: string;
}

async function serveTrpc(api: TestApi): Promise<TrpcServer> {
  const server = createHTTPServer({
    router: appRouter,
    createContext: () => api.contextOf(EXTERNAL),
    responseMeta: trpcResponseMeta,
    maxBatchSize: 5,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** What superjson makes of an input, as a client sends it. */
const encode = (input: unknown): string => JSON.stringify(superjson.serialize(input));

const decode = (encoded: SuperJSONResult): unknown => superjson.deserialize(encoded);

let api: TestApi;
let server: TrpcServer;
beforeAll(async () => {
  api = await startTestApi();
  server = await serveTrpc(api);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const SECRET = 'pso_live_abcd1234_SECRETSECRETSECRETSECRETSECRETSE';

async function send(
  path: string,
  init: RequestInit = {},
): Promise<{ response: Response; text: string; json: unknown }> {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  return { response, text, json: JSON.parse(text) };
}

const post = (body: string, type = 'application/json'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': type },
  body,
});

const errorOf = (json: unknown): TrpcErrorShape => {
  const { error } = json as { error: Parameters<typeof decode>[0] }; // the body of a failure
  return decode(error) as TrpcErrorShape; // the shape that the tests go on to look at
};

function itemsOf(json: unknown): unknown[] {
  if (!Array.isArray(json)) throw new TypeError('The response to a batch is an array.');
  return json;
}

/** What the transformer or a contract refuses. Paths, methods and media types are a matter of the server's tests. */
const FAILURES: readonly (readonly [what: string, errorCode: ErrorCode, path: string, init?: RequestInit])[] = [
  ['malformed JSON in the URL', 'malformed_json', `/pets.get?input=${SECRET}`],
  ['a form', 'invalid_request', '/orders.cancel', post('--b--', 'multipart/form-data; boundary=b')],
  ['bytes', 'invalid_request', '/orders.cancel', post('abc', 'application/octet-stream')],
  ['no input', 'invalid_request', '/orders.cancel', post('')],
  ['an input that is not from superjson', 'invalid_request', '/orders.cancel', post('{"orderId":1}')],
  ['null for an input', 'invalid_request', '/orders.cancel', post('null')],
  ['a text for an id', 'invalid_request', '/orders.cancel', post(encode({ orderId: SECRET }))],
  ['an id of 2^63', 'invalid_request', '/orders.cancel', post(encode({ orderId: 2n ** 63n }))],
  ['an unknown field', 'invalid_request', '/orders.cancel', post(encode({ orderId: 1n, [SECRET]: 1 }))],
  ['an id beyond superjson', 'invalid_request', '/orders.cancel', post(rawId(SECRET))],
  ['an id in hexadecimal', 'invalid_request', '/orders.cancel', post(rawId('0x1'))],
  [
    'types that superjson does not know',
    'invalid_request',
    '/orders.cancel',
    post(`{"json":{"orderId":"1"},"meta":{"values":{"orderId":["${SECRET}"]}}}`),
  ],
  [
    'a path into the prototype',
    'invalid_request',
    '/orders.cancel',
    post('{"json":{},"meta":{"values":{"__proto__.a":["Date"]}}}'),
  ],
  ['an internal procedure with bad input', 'insufficient_scope', '/orders.ship', post(encode(SECRET))],
  ['a list without a streaming link', 'unsupported_media_type', '/orders.list'],
  ['a batch of queries and mutations', 'invalid_request', '/pets.get,orders.cancel?batch=1', post('{}')],
  ['a batch that is too large', 'invalid_request', `/${Array(6).fill('orders.list')}?batch=1`],
  [
    'a batch to be streamed that is none',
    'invalid_request',
    '/orders.list',
    { headers: { 'trpc-accept': 'application/jsonl' } },
  ],
];

function rawId(text: string): string {
  return JSON.stringify({ json: { orderId: text }, meta: { values: { orderId: ['bigint'] } } });
}

describe('over tRPC', () => {
  beforeAll(() => api.importOrders(pendingOrder(0n), pendingOrder(1n), pendingOrder(16n)));

  const failures = FAILURES.map(([what, errorCode, path, init]) => ({ what, errorCode, path, init }));
  test.each(failures)(
    '$what is $errorCode, in the envelope of tRPC, and repeats nothing that came',
    async ({ errorCode, path, init }) => {
      const { response, text, json } = await send(path, init);
      const { status, trpcCode } = ERROR_CATALOGUE[errorCode];
      const shape = errorOf(json);
      expect(shape).toEqual({
        message: expect.any(String),
        code: expect.any(Number),
        data: { code: trpcCode, httpStatus: status, errorCode },
      });
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(text).not.toContain('SECRET');
      expect(text).not.toMatch(/stack|node_modules|packages\//);
      for await (const batch of await api.callAs({ type: 'in-process', name: 'test' }).orders.list()) {
        expect(batch.map((order) => order.status)).toEqual(['pending', 'pending', 'pending']);
      }
    },
  );

  test('a batch has a result for each call', async () => {
    const input = { 0: JSON.parse(encode({ petId: 1n })), 1: JSON.parse(encode({ petId: 'x' })) };
    const path = `/pets.get,pets.get,${SECRET}?batch=1&input=${encodeURIComponent(JSON.stringify(input))}`;
    const { response, json, text } = await send(path);
    const codes = itemsOf(json).map((item) => errorOf(item).data.errorCode);
    expect(codes).toEqual(['pet_not_found', 'invalid_request', 'route_not_found']);
    expect(response.status).toBe(207);
    expect(text).not.toContain('SECRET');
  });

  test('a batch with malformed JSON fails as a whole in each of its calls', async () => {
    const { response, json } = await send('/orders.cancel,orders.cancel?batch=1', post(`{"0":{"json":${SECRET}`));
    expect(itemsOf(json).map((item) => errorOf(item).data.errorCode)).toEqual(['malformed_json', 'malformed_json']);
    expect(response.status).toBe(400);
  });

  test('a refusal of an input says what was wrong and what would be right', async () => {
    const { json } = await send('/orders.cancel', post(encode({ orderId: 'x', extra: 1 })));
    expect(errorOf(json).message).toBe(
      'orderId: must be a 64-bit integer, from -9223372036854775808 to 9223372036854775807 ' +
        '(a bigint over tRPC, plain decimal digits in a URL); The input: may only contain orderId.',
    );
  });
});

describe('the envelope of failures before tRPC runs', () => {
  test('is shaped as tRPC shapes its own', () => {
    // The catalogue's own keys.
    for (const errorCode of Object.keys(ERROR_CATALOGUE) as ErrorCode[]) {
      const { status, trpcCode, message } = ERROR_CATALOGUE[errorCode];
      expect(errorOf(JSON.parse(toTrpcEnvelope(errorCode)))).toEqual({
        message,
        code: expect.any(Number),
        data: { code: trpcCode, httpStatus: status, errorCode },
      });
    }
  });

  test('has the bytes that tRPC itself sends', async () => {
    const { text } = await send('/nowhere');
    expect(toTrpcEnvelope('route_not_found')).toBe(text);
  });
});
