import type { ErrorCode } from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/keys.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type RawResponse, sendOne } from './support/raw-http.ts';
import {
  createBannedKey,
  failing,
  startTestApp,
  type TestApp,
  type TestAppOptions,
  useTestApp,
} from './support/test-app.ts';

interface Row {
  readonly code: ErrorCode;
  readonly from: string;
  readonly provoke: (app: TestApp) => Promise<Response | RawResponse>;
  readonly options?: TestAppOptions;
  readonly headers?: Readonly<Record<string, unknown>>;
}

const raw = ({ port }: TestApp, text: string): Promise<RawResponse> => sendOne(text, { port });
const authorized = ({ key }: TestApp, line: string, ...more: string[]) =>
  [line, 'Host: x', `Authorization: Bearer ${key}`, ...more, '', ''].join('\r\n');
const cancel = (app: TestApp, id: bigint | string) => app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE' });

const SECRET = 'select "secret" from internals';

/** What the tests of conformance do not provoke, or whose headers have a meaning of their own. */
const ROWS: readonly Row[] = [
  {
    code: 'invalid_request',
    from: 'a missing Host',
    provoke: (app) => raw(app, 'GET /v1/store/orders HTTP/1.1\r\n\r\n'),
  },
  { code: 'invalid_request', from: 'the parser: no HTTP', provoke: (app) => raw(app, 'HELLO\r\n\r\n') },
  {
    code: 'invalid_request',
    from: 'the parser: no method',
    provoke: (app) => raw(app, 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n'),
  },
  {
    code: 'invalid_request',
    from: 'the parser: two lengths',
    provoke: (app) => raw(app, 'POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'),
  },
  {
    code: 'missing_api_key',
    from: 'admission',
    provoke: (app) => app.fetch('/v1/store/orders', { key: null }),
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer(?!.*error=)/) },
  },
  {
    code: 'invalid_api_key',
    from: 'admission',
    provoke: (app) => app.fetch('/v1/store/orders', { key: 'unknown' }),
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  {
    code: 'rate_limit_exceeded',
    from: 'admission',
    async provoke(app) {
      const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
      await app.fetch('/v1/store/orders', { key });
      return app.fetch('/v1/store/orders', { key });
    },
    headers: {
      'retry-after': expect.stringMatching(/^[1-9]\d*$/),
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '0',
    },
  },
  {
    code: 'api_key_banned',
    from: 'admission',
    provoke: async (app) => app.fetch('/v1/store/orders', { key: await createBannedKey(app) }),
    headers: {
      'retry-after': expect.stringMatching(/^[1-9]\d*$/),
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '0',
    },
  },
  {
    code: 'headers_too_large',
    from: 'the parser: the URL',
    provoke: (app) => raw(app, authorized(app, `GET /v1/${'x'.repeat(17_000)} HTTP/1.1`)),
  },
  { code: 'internal_error', from: 'a fault', options: failing(new Error(SECRET)), provoke: (app) => cancel(app, 1n) },
  {
    code: 'service_unavailable',
    from: 'the database',
    options: failing(new StorageUnavailableError(SECRET)),
    provoke: (app) => cancel(app, 1n),
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
  {
    code: 'overloaded',
    from: 'admission',
    options: { bounds: { maxRequestsInFlight: 0 } },
    provoke: (app) => cancel(app, 1n),
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
];

describe.concurrent('every failure over REST is an Error object with rate limit headers', async () => {
  const shared = await useTestApp();

  test.each(ROWS)('$code, from $from', async ({ code, provoke, options, headers = {} }) => {
    await using own = options && (await startTestApp(options));
    const response = await expectError(await provoke(own ?? shared), code);
    expectRateLimitHeaders(response);
    expect(response.headers).toMatchObject(headers);
    expect(response.body).not.toContain('secret');
  });

  test('an internal error is logged once, with its stack and the request id of the response', async () => {
    await using app = await startTestApp(failing(new Error(SECRET)));
    const response = await cancel(app, 1n);
    const lines = app.logLines.filter(({ level }) => level >= 50);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      requestId: response.headers.get('x-request-id'),
      operation: 'cancelOrder',
      err: { message: SECRET, stack: expect.stringContaining('errors.test') },
    });
  });
});
