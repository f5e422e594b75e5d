import { ApiError, ERROR_CATALOGUE, type ErrorCode, refusalOf } from '@petstore/api';
import { DomainError, StorageUnavailableError } from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { errorHandler } from '../../src/http/responses.ts';
import { Metrics } from '../../src/operations/metrics.ts';
import { createKey, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { sendOne } from './support/raw-http.ts';
import { failing } from './support/replaced-parts.ts';
import {
  createBannedKey,
  PETS_SUNSET_AT,
  startTestApp,
  type TestApp,
  type TestAppOptions,
  useTestApp,
} from './support/test-app.ts';
import { mutate, query } from './support/trpc-calls.ts';

type Options = { readonly key?: string | null };
const cancelOrder = {
  rest: (app: TestApp, id: bigint, options: Options) =>
    app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE', ...options }),
  trpc: (app: TestApp, orderId: bigint, options: Options) => mutate(app, 'orders.cancel', { orderId }, options),
};
const getPet = {
  rest: (app: TestApp, id: bigint, options: Options) => app.fetch(`/v1/pets/${id}`, options),
  trpc: (app: TestApp, petId: bigint, options: Options) => query(app, 'pets.get', { petId }, options),
};

interface Row {
  readonly call: typeof cancelOrder | typeof getPet;
  /** The id to call with, made anew for each side. */
  readonly id?: (app: TestApp) => Promise<{ readonly id: bigint }>;
  readonly key?: (app: TestApp) => Promise<string | null>;
  readonly options?: TestAppOptions;
  /** What the headers say besides. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

const SECRET = 'select "secret" from internals';
const AGAIN_LATER = { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) };
const USED_UP = { ...AGAIN_LATER, 'cache-control': 'no-store', 'x-ratelimit-remaining': '0' };

async function spentKey(app: TestApp): Promise<string> {
  const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
  await app.fetch('/v1/pets/1', { key });
  return key;
}

const ROWS: Partial<Record<ErrorCode, Row>> = {
  order_not_found: { call: cancelOrder },
  order_already_shipped: { call: cancelOrder, id: ({ persistence }) => placeOrder(persistence, 'ship') },
  order_already_cancelled: { call: cancelOrder, id: ({ persistence }) => placeOrder(persistence, 'cancel') },
  pet_not_found: { call: getPet },
  missing_api_key: {
    call: getPet,
    key: async () => null,
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer(?!.*error=)/) },
  },
  invalid_api_key: {
    call: cancelOrder,
    key: async () => 'unknown',
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  insufficient_scope: {
    call: cancelOrder,
    key: async (app) => (await createKey(app.persistence, { kind: 'internal', readOnly: true })).text,
    headers: { 'www-authenticate': 'Bearer realm="petstore", error="insufficient_scope"' },
  },
  rate_limit_exceeded: { call: getPet, key: spentKey, headers: USED_UP },
  api_key_banned: { call: cancelOrder, key: createBannedKey, headers: USED_UP },
  operation_sunset: { call: getPet, options: { clock: manualClock(PETS_SUNSET_AT) } },
  internal_error: { call: cancelOrder, options: failing(new Error(SECRET)) },
  service_unavailable: {
    call: getPet,
    options: failing(new StorageUnavailableError(SECRET)),
    headers: AGAIN_LATER,
  },
  overloaded: { call: getPet, options: { bounds: { maxRequestsInFlight: 0 } }, headers: AGAIN_LATER },
};

describe.concurrent('every failure is an Error object with rate limit headers', async () => {
  const shared = await useTestApp();

  test.each(Object.entries(ROWS) as [ErrorCode, Row][])(
    '%s: over tRPC with the same message and headers',
    async (code, { call, id = async () => ({ id: 404n }), key = async () => undefined, options, headers = {} }) => {
      await using own = options && (await startTestApp(options));
      const app = own ?? shared;
      const argumentsOf = async () => {
        const made = await key(app);
        return [app, (await id(app)).id, made === undefined ? {} : { key: made }] as const;
      };
      const rest = await expectError(await call.rest(...(await argumentsOf())), code);
      expectRateLimitHeaders(rest);
      expect(rest.headers).toMatchObject(headers);
      expect(rest.body).not.toContain('secret');
      const trpc = await call.trpc(...(await argumentsOf()));
      expect(trpc.error).toMatchObject({
        message: JSON.parse(rest.body).message,
        data: { code: ERROR_CATALOGUE[code].trpcCode, errorCode: code },
      });
      for (const name of ['www-authenticate', 'cache-control', 'x-ratelimit-limit', 'content-type']) {
        expect(trpc.headers.get(name), name).toBe(rest.headers[name] ?? null);
      }
      expect(trpc.headers.has('retry-after')).toBe('retry-after' in rest.headers);
    },
  );

  test.each<[ErrorCode, string]>([
    ['invalid_request', 'GET /v1/store/orders HTTP/1.1\r\n\r\n'],
    ['invalid_request', 'HELLO\r\n\r\n'],
    ['invalid_request', 'POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['headers_too_large', `GET /v1/${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ])('%s: what the parser refuses, such as %j', async (code, text) => {
    expectRateLimitHeaders(await expectError(await sendOne(text, shared), code));
  });

  test('an internal error is logged once, with its stack and the request id of the response', async () => {
    await using app = await startTestApp(failing(new Error(SECRET)));
    const response = await cancelOrder.rest(app, 1n, {});
    const lines = app.logLines.filter(({ level }) => level >= 50);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      requestId: response.headers.get('x-request-id'),
      operation: 'cancelOrder',
      err: { message: SECRET, stack: expect.stringContaining('errors.test') },
    });
  });
});

test('a refusal of an order is rendered once, and one that says what was wrong each time', async () => {
  const rendered: string[] = [];
  const metrics = new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });
  await using app = await startTestApp({
    isOfThisRelease: false,
    extend(fastify) {
      fastify.register(async (scope) => {
        scope.setErrorHandler(
          errorHandler(metrics, (response) => {
            rendered.push(response.message);
            return response;
          }),
        );
        scope.get<{ Params: { text: string } }>('/refused/:text', async ({ params: { text } }) => {
          throw text === 'order' ? new DomainError('order_not_found', text) : new ApiError('invalid_request', text);
        });
      });
    },
  });
  const messageOf = async (text: string): Promise<string> =>
    JSON.parse(await (await app.fetch(`/refused/${text}`, { key: null })).text()).message;
  const { message } = ERROR_CATALOGUE.order_not_found;
  expect([await messageOf('order'), await messageOf('order')]).toEqual([message, message]);
  expect([await messageOf('a'), await messageOf('b')]).toEqual(['a', 'b']);
  expect(rendered).toEqual([message, 'a', 'b']);
});

describe('an error leads to its page', () => {
  const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // its own keys
  const raised = (code: ErrorCode) => `/raised/${code}`;
  /** Raises each error, whatever it takes otherwise. */
  const options: TestAppOptions = {
    isOfThisRelease: false,
    extend(app) {
      for (const code of codes) {
        app.get(raised(code), () => {
          throw refusalOf(code);
        });
      }
    },
  };

  test('each of the catalogue, by a link relative to where it came from', async () => {
    await using app = await startTestApp(options);
    for (const code of codes) {
      const { headers } = await expectError(await app.fetch(raised(code), { key: null }), code);
      expect(headers['link']).toBe(`</docs/errors/${code}>; rel="help"`);
      const page = await app.fetch(`/docs/errors/${code}`, { key: null, headers: { accept: 'text/html' } });
      expect([page.status, page.headers.get('content-type')], code).toEqual([200, 'text/html; charset=utf-8']);
      expect(await page.text(), code).toMatch(new RegExp(`<h1[^>]*>.*${code}.*</h1>`));
    }
  });

  test('at the public address where that is set', async () => {
    await using app = await startTestApp({ siteUrl: 'https://api.shop.example/pets' });
    const link = (code: ErrorCode) => `<https://api.shop.example/pets/docs/errors/${code}>; rel="help"`;
    expect((await app.fetch('/v1/store/orders', { key: null })).headers.get('link')).toBe(link('missing_api_key'));
    expect((await sendOne('HELLO\r\n\r\n', app)).headers['link']).toBe(link('invalid_request'));
  });

  test('beside the links of a deprecated operation, and with HEAD', async () => {
    await using app = await startTestApp();
    for (const method of ['GET', 'HEAD']) {
      const links = (await app.fetch('/v1/pets/404', { method })).headers.get('link');
      expect(links).toMatch(/rel="deprecation".*, <.*rel="sunset".*, <\/docs\/errors\/pet_not_found>; rel="help"$/);
    }
  });

  test('over REST alone: neither a success nor tRPC has such a link', async () => {
    await using app = await startTestApp();
    expect((await app.fetch('/v1/store/orders')).headers.has('link')).toBe(false);
    expect((await cancelOrder.trpc(app, 404n, {})).headers.has('link')).toBe(false);
    expect((await app.fetch('/trpc/unknown')).headers.has('link')).toBe(false);
  });
});

test('a cancellation over REST or tRPC is visible on the other side', async () => {
  await using app = await startTestApp();
  const { id } = await placeOrder(app.persistence);
  expect((await cancelOrder.trpc(app, id, {})).status).toBe(200);
  await expectError(await cancelOrder.rest(app, id, {}), 'order_already_cancelled');
  const { id: other } = await placeOrder(app.persistence);
  expect((await cancelOrder.rest(app, other, {})).status).toBe(204);
  expect((await cancelOrder.trpc(app, other, {})).error?.data).toMatchObject({ errorCode: 'order_already_cancelled' });
});
