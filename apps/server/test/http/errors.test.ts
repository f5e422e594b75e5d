import type { ErrorCode } from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type RawResponse, sendOne } from './support/raw-http.ts';
import { failing } from './support/replaced-parts.ts';
import { createBannedKey, startTestApp, type TestApp, type TestAppOptions, useTestApp } from './support/test-app.ts';

interface Expected {
  readonly options?: TestAppOptions;
  readonly headers?: Readonly<Record<string, unknown>>;
}

type Row = readonly [
  code: ErrorCode,
  from: string,
  provoke: (app: TestApp) => Promise<Response | RawResponse>,
  expected?: Expected,
];

const raw = ({ port }: TestApp, text: string): Promise<RawResponse> => sendOne(text, { port });
const authorized = ({ key }: TestApp, line: string, ...more: string[]) =>
  [line, 'Host: x', `Authorization: Bearer ${key}`, ...more, '', ''].join('\r\n');
const cancel = (app: TestApp, id: bigint | string) => app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE' });

const SECRET = 'select "secret" from internals';

async function exceedLimit(app: TestApp): Promise<Response> {
  const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
  await app.fetch('/v1/store/orders', { key });
  return app.fetch('/v1/store/orders', { key });
}

const get = (app: TestApp, key: string | null) => app.fetch('/v1/store/orders', { key });
const AGAIN_LATER = { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) };
const USED_UP = { ...AGAIN_LATER, 'cache-control': 'no-store', 'x-ratelimit-remaining': '0' };
const CHALLENGE = { 'www-authenticate': expect.stringMatching(/^Bearer(?!.*error=)/) };
const REFUSED_KEY = { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) };
const TWO_LENGTHS = 'POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n';

/** What the tests of conformance do not provoke, or whose headers have a meaning of their own. */
const ROWS: readonly Row[] = [
  ['invalid_request', 'a missing Host', (app) => raw(app, 'GET /v1/store/orders HTTP/1.1\r\n\r\n')],
  ['invalid_request', 'the parser: no HTTP', (app) => raw(app, 'HELLO\r\n\r\n')],
  ['invalid_request', 'the parser: no method', (app) => raw(app, 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['invalid_request', 'the parser: two lengths', (app) => raw(app, TWO_LENGTHS)],
  ['missing_api_key', 'admission', (app) => get(app, null), { headers: CHALLENGE }],
  ['invalid_api_key', 'admission', (app) => get(app, 'unknown'), { headers: REFUSED_KEY }],
  ['rate_limit_exceeded', 'admission', exceedLimit, { headers: USED_UP }],
  ['api_key_banned', 'admission', async (app) => get(app, await createBannedKey(app)), { headers: USED_UP }],
  ['headers_too_large', 'the parser: the URL', (app) => raw(app, authorized(app, `GET /v1/${'x'.repeat(17_000)} HTTP/1.1`))],
  ['internal_error', 'a fault', (app) => cancel(app, 1n), { options: failing(new Error(SECRET)) }],
  ['service_unavailable', 'the database', (app) => cancel(app, 1n), { options: failing(new StorageUnavailableError(SECRET)), headers: AGAIN_LATER }],
  ['overloaded', 'admission', (app) => cancel(app, 1n), { options: { bounds: { maxRequestsInFlight: 0 } }, headers: AGAIN_LATER }],
]; // biome-ignore format: a table

describe.concurrent('every failure over REST is an Error object with rate limit headers', async () => {
  const shared = await useTestApp();

  test.for(ROWS)('%s, from %s', async ([code, , provoke, { options, headers = {} } = {}]) => {
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
