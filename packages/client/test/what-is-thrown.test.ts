import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ERROR_CATALOGUE } from '@petstore/api';
import { startHttpServer } from '@petstore/testing';
import { TRPCClientError } from '@trpc/client';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  createPetstoreClient,
  createPetstoreRestClient,
  type ErrorCode,
  EventsExpiredError,
  InvalidRequestError,
  NotFoundError,
  OperationSunsetError,
  PermissionError,
  PetstoreError,
  type PetstoreErrorCode,
  petstoreErrorOf,
  RateLimitError,
  ServiceError,
  TimeoutError,
  type UnknownErrorCode,
} from '../src/index.ts';
import { createTestClient, TestClock } from './support/test-clients.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.persistence.orders.generateOrders({ count: 6_000, seed: 1, now: new Date() });
});
afterAll(() => service[Symbol.asyncDispose]());

async function failureOf(call: () => Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([call()]);
  expect(outcome.status).toBe('rejected');
  return outcome.status === 'rejected' ? outcome.reason : undefined;
}

const CLASSES = {
  InvalidRequestError,
  AuthenticationError,
  PermissionError,
  NotFoundError,
  ConflictError,
  OperationSunsetError,
  EventsExpiredError,
  RateLimitError,
  ServiceError,
} satisfies Record<(typeof ERROR_CATALOGUE)[ErrorCode]['clientClass'], typeof PetstoreError>;

/** Each code of the service, with its entry. */
const ENTRIES = Object.entries(ERROR_CATALOGUE);

const OF_RESPONSES = Object.values(CLASSES).map((ErrorClass) => ({
  ErrorClass,
  codes: ENTRIES.flatMap(([code, { clientClass }]) => (CLASSES[clientClass] === ErrorClass ? [code] : [])),
}));
const OF_THIS_SIDE = [
  { ErrorClass: ConnectionError, codes: ['connection_failed', 'timed_out'] },
  { ErrorClass: TimeoutError, codes: ['timed_out'] },
];

/** A service that refuses every request so. */
const refusing = (status: number, code: string) =>
  startHttpServer((_, response) => {
    const body = JSON.stringify({ code, message: 'No.', status });
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'request-1' }).end(body);
  });

describe('each code of the service', () => {
  test('is one of the class that it is thrown as, and of no other', async () => {
    for (const [code, { status, clientClass }] of ENTRIES) {
      await using server = await refusing(status, code);
      const client = createPetstoreRestClient({ baseUrl: server.origin, apiKey: 'k', maxRetries: 0 });
      const failure = await failureOf(() => client.cancelOrder({ orderId: 1n }));
      expect(failure).toMatchObject({ constructor: CLASSES[clientClass], code, status, requestId: 'request-1' });
    }
  });

  test('stands in the README beside its class', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    for (const { ErrorClass, codes } of [...OF_RESPONSES, ...OF_THIS_SIDE]) {
      const row = readme.split('\n').find((line) => line.startsWith(`| \`${ErrorClass.name}\``));
      const shown = Array.from(row?.split('|')[3]?.matchAll(/`(\w+)`/g) ?? [], ([, code]) => code);
      expect(shown.toSorted(), ErrorClass.name).toEqual(codes.toSorted());
    }
  });

  test('is known to the compiler, which refuses any other', () => {
    expectTypeOf<Exclude<ErrorCode, PetstoreErrorCode>>().toEqualTypeOf<never>();
    const check = (error: unknown) => {
      if (error instanceof ConflictError) {
        switch (error.code) {
          case 'order_already_shipped':
            return 1;
          // @ts-expect-error misspelt
          case 'order_alredy_cancelled':
            return 2;
          // @ts-expect-error of another class
          case 'order_not_found':
            return 3;
          default:
            // What a newer service may send is left, whatever was named before.
            expectTypeOf<UnknownErrorCode>().toExtend<typeof error.code>();
        }
      }
      // @ts-expect-error misspelt
      if (error instanceof PetstoreError && error.code === 'order_alredy_cancelled') return 4;
      // @ts-expect-error misspelt
      if (petstoreErrorOf(error)?.code === 'order_alredy_cancelled') return 5;
      return error instanceof PetstoreError && error.code === 'order_already_cancelled' ? 6 : 7;
    };
    expect(check(new ConflictError('', { code: 'order_already_cancelled' }))).toBe(6);
    // @ts-expect-error there is no such code
    new ConflictError('', { code: 'order_alredy_cancelled' });
  });
});

test('a code that this release does not know comes as it is, in the class of its status', async () => {
  for (const [status, ErrorClass] of [
    [404, NotFoundError],
    [409, ConflictError],
    [422, InvalidRequestError],
    [507, ServiceError],
  ] as const) {
    await using server = await refusing(status, 'of_next_year');
    const client = createPetstoreRestClient({ baseUrl: server.origin, apiKey: 'k', maxRetries: 0 });
    const failure = await failureOf(() => client.cancelOrder({ orderId: 1n }));
    expect(failure).toMatchObject({ constructor: ErrorClass, code: 'of_next_year', status });
  }
});

test('a page with status 200 is no success, also where the service would send no body', async () => {
  await using login = await startHttpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Log in</title>');
  });
  const { rest, orders } = createPetstoreClient({ baseUrl: login.origin, apiKey: 'k', maxRetries: 0 });
  const orderId = 1n;
  for (const call of [
    () => rest.cancelOrder({ orderId }),
    () => rest.v2.cancelOrder({ orderId }),
    () => rest.v2.getOrder({ orderId }),
    () => rest.listOrders().toArray(),
    () => rest.v2.listOrders().toArray(),
    () => orders.cancel.mutate({ orderId }),
    () => orders.list.query(),
  ]) {
    const failure = petstoreErrorOf(await failureOf(call));
    expect(failure, String(call)).toMatchObject({
      constructor: ServiceError,
      code: 'unexpected_response',
      status: 200,
    });
  }
});

test.each([
  ['a page', '<title>Log in</title>', 'x'],
  ['an object', ' {"orders":[', '{"id":1},'],
  ['an array of objects in objects', '[{"a":{"x":{}', ',"y":{}'.repeat(5_000)],
  ['an array of one endless text', '[{"a":"', 'x'.repeat(50_000)],
])(
  'a list over REST is refused as soon as it is seen to be something else, however long that is: %s',
  async (...row) => {
    const [, begin, piece] = row;
    let written = 0;
    await using endless = await startHttpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write(begin);
      const timer = setInterval(() => {
        if (response.writableNeedDrain) return;
        response.write(piece);
        written += piece.length;
      }, 5);
      response.on('close', () => clearInterval(timer));
    });
    const { rest } = createPetstoreClient({ baseUrl: endless.origin, apiKey: 'k', maxRetries: 0 });
    const failure = await failureOf(() => rest.listOrders()[Symbol.asyncIterator]().next());
    expect(failure).toMatchObject({ constructor: ServiceError, code: 'unexpected_response', status: 200 });
    expect(written).toBeLessThan(3_000_000);
  },
);

type Answer = Parameters<typeof startHttpServer>[0];

const page =
  (status: number, type = 'text/html', body = '<html>'): Answer =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

describe('each way in which a call goes wrong on its way', () => {
  const REFUSED = 'http://127.0.0.1:9';
  test.each<[string, Answer | string, typeof PetstoreError, PetstoreErrorCode]>([
    ['a name that is not found', 'http://nowhere.invalid', ConnectionError, 'connection_failed'],
    ['a port that refuses', REFUSED, ConnectionError, 'connection_failed'],
    ['TLS to a port without it', 'https', ConnectionError, 'connection_failed'],
    ['a reset', (_, response) => response.socket?.resetAndDestroy(), ConnectionError, 'connection_failed'],
    ['silence', () => {}, TimeoutError, 'timed_out'],
    [
      'a redirect to itself',
      (_, response) => response.writeHead(302, { location: '/' }).end(),
      ConnectionError,
      'connection_failed',
    ],
    ['a gateway’s 502', page(502), ServiceError, 'unexpected_response'],
    ['a proxy’s 403', page(403), PermissionError, 'unexpected_response'],
    [
      'a proxy’s 401 in JSON',
      page(401, 'application/json', '{"error":"x"}'),
      AuthenticationError,
      'unexpected_response',
    ],
    ['another program’s 404', page(404), NotFoundError, 'unexpected_response'],
    ['a proxy’s 413', page(413), InvalidRequestError, 'unexpected_response'],
    ['no body', page(200, 'application/json', ''), ServiceError, 'unexpected_response'],
    ['another program’s list', page(200, 'text/plain', '[]'), ServiceError, 'unexpected_response'],
    ['null', page(200, 'application/json', 'null'), ServiceError, 'unexpected_response'],
    ['JSON cut short', page(200, 'application/json', '{"id":"1"'), ServiceError, 'unexpected_response'],
  ])('%s', async (_, answer, ErrorClass, code) => {
    await using server = await startHttpServer(typeof answer === 'string' ? page(200) : answer);
    const baseUrl = answer === 'https' ? server.origin.replace('http', answer) : answer;
    const options = {
      baseUrl: typeof baseUrl === 'string' ? baseUrl : server.origin,
      apiKey: 'k',
      maxRetries: 0,
      timeoutMs: 500,
    };
    const { rest, orders } = createPetstoreClient(options);
    for (const call of [
      () => rest.cancelOrder({ orderId: 1n }),
      () => rest.v2.getOrder({ orderId: 1n }),
      () => orders.cancel.mutate({ orderId: 1n }),
    ]) {
      expect
        .soft(petstoreErrorOf(await failureOf(call)), String(call))
        .toMatchObject({ constructor: ErrorClass, code });
    }
  });
});

test('a redirect to another origin, which takes the key away, is named', async () => {
  const data = { code: 'UNAUTHORIZED', httpStatus: 401, errorCode: 'missing_api_key' };
  await using other = await startHttpServer(({ url = '', headers }, response) => {
    expect(headers.authorization).toBeUndefined();
    const overTrpc = { error: { json: { message: 'No key.', code: -32_001, data } } };
    const refusal = url.startsWith('/trpc') ? overTrpc : { code: 'missing_api_key', message: 'No key.', status: 401 };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(refusal));
  });
  await using redirecting = await startHttpServer(({ url }, response) => {
    response.writeHead(308, { location: `${other.origin}${url}` }).end();
  });
  const { rest, orders } = createPetstoreClient({ baseUrl: redirecting.origin, apiKey: 'k', maxRetries: 0 });
  for (const call of [
    () => rest.cancelOrder({ orderId: 1n }),
    () => rest.listOrders().toArray(),
    () => orders.cancel.mutate({ orderId: 1n }),
  ]) {
    expect.soft(petstoreErrorOf(await failureOf(call)), String(call)).toMatchObject({
      constructor: AuthenticationError,
      code: 'missing_api_key',
      status: 401,
      message: `The request was redirected to ${other.origin}, where it came without its key. Use that address as baseUrl.`,
    });
  }
});

test.each([
  ['no body', '', 'connection_failed', 3],
  ['half a line', '{"json":{"0":[[0]', 'connection_failed', 3],
  ['an array, as without trpc-accept', '[{"result":{"data":{"json":[]}}}]', 'unexpected_response', 1],
  ['a line of another format', '{"status":"up"}\n', 'unexpected_response', 1],
  ['a page', '<html>\n', 'unexpected_response', 1],
])('a list over tRPC in place of which comes %s fails as any call, and is retried if that may help', async (...row) => {
  const [, body, code, attempts] = row;
  let requests = 0;
  await using server = await startHttpServer((_, response) => {
    requests++;
    response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'request-1' }).end(body);
  });
  const clock = new TestClock();
  const client = createTestClient({ baseUrl: server.origin, apiKey: 'k', clock });
  const failure = petstoreErrorOf(await failureOf(() => client.orders.list.query()));
  expect(failure).toMatchObject({ code, requestId: 'request-1' });
  expect(requests).toBe(attempts);
});

/** Ends every long response in its midst as if nothing were wrong, as an HTTP/1.0 proxy would whose own source broke. */
const endingEarly: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  const text = await response.text();
  return new Response(text.slice(0, Math.min(text.length, 50_000)), response);
};

const BROKEN_OFF = {
  constructor: ConnectionError,
  code: 'connection_failed',
  message: 'The response broke off: what was read is not the whole.',
  requestId: expect.stringMatching(/^request-\d+$/),
};

describe.each([
  ['whose connection is cut', { fault: 'cut-response' as const }],
  ['that ends before it is whole', { fetch: endingEarly }],
])('a list %s', (_, { fault, fetch: ownFetch }: { fault?: 'cut-response'; fetch?: typeof fetch }) => {
  const options = () => ({ baseUrl: service.origin, apiKey: 'external', maxRetries: 0, fetch: ownFetch });
  const cut = () => {
    if (fault !== undefined) service.faults.push(fault);
  };

  test('says so over REST, with the id of its request', async () => {
    cut();
    const failure = await failureOf(async () => {
      for await (const _order of createPetstoreRestClient(options()).listOrders());
    });
    expect(failure).toMatchObject(BROKEN_OFF);
    cut();
    expect(await failureOf(() => createPetstoreRestClient(options()).listOrders().toArray())).toMatchObject(BROKEN_OFF);
  });

  test('says so over tRPC, with the id of its request', async () => {
    cut();
    const failure = await failureOf(async () => {
      for await (const _batch of await createPetstoreClient(options()).orders.list.query());
    });
    expect(failure).toBeInstanceOf(TRPCClientError);
    expect(petstoreErrorOf(failure)).toMatchObject(BROKEN_OFF);
    expect(petstoreErrorOf(failure)?.code).toBe('connection_failed');
  });
});

describe('over tRPC', () => {
  const client = () => createPetstoreClient({ baseUrl: service.origin, apiKey: 'external', maxRetries: 0 });

  test('a call that is aborted rejects with the reason of its signal, before and after it was sent', async () => {
    const reason = new Error('enough');
    const { pets, orders } = client();
    for (const isLate of [false, true]) {
      for (const call of [
        (signal: AbortSignal) => pets.get.query({ petId: 1n }, { signal }),
        (signal: AbortSignal) => orders.cancel.mutate({ orderId: -1n }, { signal }),
        (signal: AbortSignal) => orders.list.query(undefined, { signal }),
      ]) {
        const abort = new AbortController();
        if (!isLate) abort.abort(reason);
        const called = call(abort.signal);
        abort.abort(reason);
        expect(await failureOf(() => called)).toBe(reason);
      }
    }
  });
});

/** Lists whose pieces arrive in larger portions than their readers get. */
const LISTS: Readonly<
  Record<string, (signal: AbortSignal) => Promise<AsyncIterable<unknown>> | AsyncIterable<unknown>>
> = {
  v1: (signal) => createPetstoreRestClient(ofService()).listOrders({ signal }),
  v2: (signal) => createPetstoreRestClient(ofService()).v2.listOrders({ limit: 1_000 }, { signal }),
  tRPC: (signal) => createPetstoreClient(ofService()).orders.list.query(undefined, { signal }),
};
const ofService = () => ({ baseUrl: service.origin, apiKey: 'external', maxRetries: 0 });

describe.each(Object.entries(LISTS))('a list that its reader aborts, over %s,', (_, list) => {
  async function readUntil(abortAfter: number): Promise<{ failure: unknown; count: number; reason: Error }> {
    const abort = new AbortController();
    const reason = new Error('enough');
    let count = 0;
    const failure = await failureOf(async () => {
      for await (const _piece of await list(abort.signal)) if (++count === abortAfter) abort.abort(reason);
    });
    return { failure, count, reason };
  }

  test('gives nothing more, and rejects with the reason of its signal', async () => {
    const { failure, count, reason } = await readUntil(1);
    expect(failure).toBe(reason);
    expect(count).toBe(1);
    expect(petstoreErrorOf(failure)?.code).toBeUndefined();
  });

  test('rejects so after its last piece, too', async () => {
    let pieces = 0;
    for await (const _piece of await list(new AbortController().signal)) pieces++;
    const { failure, count, reason } = await readUntil(pieces);
    expect(failure).toBe(reason);
    expect(count).toBe(pieces);
  });
});

describe('a fetch that is given as an option', () => {
  const ofFetch = (own: typeof fetch) =>
    createPetstoreRestClient({ baseUrl: service.origin, apiKey: 'external', fetch: own, maxRetries: 2 });

  test('is called without a receiver, which browsers and Workers refuse', async () => {
    const receivers: unknown[] = [];
    const own = function (this: unknown, ...args: Parameters<typeof fetch>) {
      receivers.push(this);
      return fetch(...args);
    };
    await failureOf(() => ofFetch(own).cancelOrder({ orderId: -1n }));
    expect(receivers).toEqual([undefined]);
  });

  test.each([
    new TypeError('fetch failed'), // of Node, as browsers' `Failed to fetch` and `Load failed`
    new DOMException('The operation was aborted.', 'AbortError'), // of a limit of its own
    new ReferenceError('log is not defined'), // a mistake in it looks no different
    'a text',
  ])('and throws is a ConnectionError with that as its cause, over REST and tRPC: %s', async (cause) => {
    const failing = async () => Promise.reject(cause);
    const throwing = () => {
      throw cause;
    };
    for (const own of [failing, throwing]) {
      const { rest, pets } = createPetstoreClient({ ...ofService(), fetch: own });
      for (const call of [() => rest.cancelOrder({ orderId: 1n }), () => pets.get.query({ petId: 1n })]) {
        const failure = petstoreErrorOf(await failureOf(call));
        expect(failure).toMatchObject({ constructor: ConnectionError, code: 'connection_failed', cause });
      }
    }
  });

  /** The parts of a response that other implementations of `fetch` return, with another body. */
  const withBody = (response: Response, body: unknown): Response =>
    Object.create(response, {
      body: { value: body },
      status: { value: response.status },
      ok: { value: response.ok },
      headers: { value: response.headers },
    });

  test.each([
    ['node-fetch', (response: Response) => withBody(response, Readable.from(['[]']))],
    ['React Native', (response: Response) => withBody(response, undefined)],
    ['a stub', () => undefined as unknown as Response],
  ])(
    'and returns no web stream is refused at the first response, with what it must return: %s',
    async (_, returning) => {
      let calls = 0;
      const own: typeof fetch = async (url, init) => {
        calls++;
        return returning(await fetch(url, init));
      };
      const { rest, pets, events } = createPetstoreClient({ ...ofService(), fetch: own, maxRetries: 2 });
      const failed: (() => Promise<unknown>)[] = [
        () => rest.listOrders().toArray(),
        () => rest.v2.getOrder({ orderId: 1n }),
        () => rest.cancelOrder({ orderId: -1n }),
        () => events().next(),
      ];
      const message = expect.stringMatching(/^fetch must resolve to a Response whose body is a web ReadableStream/);
      for (const call of failed) expect(await failureOf(call)).toMatchObject({ name: 'TypeError', message });
      const overTrpc = await failureOf(() => pets.get.query({ petId: 1n }));
      expect(overTrpc).toMatchObject({ name: 'TRPCClientError', message, cause: { name: 'TypeError' } });
      expect(petstoreErrorOf(overTrpc)).toBeUndefined();
      expect(calls).toBe(failed.length + 1);
    },
  );
});
