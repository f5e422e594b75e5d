import type { ErrorCode } from '@petstore/api';
import { INT64_MAX, INT64_MIN, StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { createKey, importOrders, importPets, pendingOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { type RawResponse, request, sendOne } from './support/raw-http.ts';
import { overriding } from './support/replaced-parts.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

const app = await useTestApp();
await importOrders(
  app.persistence,
  [1n, 2n, 3n, 4n, INT64_MIN, INT64_MAX, -5n, 0n].map((id) => pendingOrder(id)),
);
await importPets(app.persistence, [{ id: 1n, name: 'Ünal "the cat"' }]);

/** Unlike fetch, which would rewrite some of these paths. */
async function send(method: string, target: string, key: string | undefined = app.key): Promise<RawResponse> {
  const authorization = key === '' ? '' : `Authorization: Bearer ${key}\r\n`;
  return await sendOne(`${method} ${target} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`, { port: app.port });
}

describe('a path is exact after percent-decoding', () => {
  test.each([
    ['GET', '/v1/store/%6Frders', 200],
    ['GET', '/%76%31/store/orders', 200],
    ['GET', '/v1/store/orders?', 200],
    ['GET', '/v1/store/orders?page=2&status=pending&x[]=%zz', 200],
    ['GET', '/v1/store/orders#part', 200],
    ['GET', 'http://anything.example/v1/store/orders', 200],
    ['GET', 'HTTPS://[2001:db8::1]:443/v1/store/orders?x=1', 200],
    ['GET', 'http://anything.example', 302],
    ['GET', 'http://anything.example?x=1', 302],
    ['GET', '/v1/pets/%31', 200],
    ['DELETE', '/v1/store/orders/%31', 204],
    ['DELETE', `/v1/store/orders/${INT64_MAX}`, 204],
    ['DELETE', `/v1/store/orders/${INT64_MIN}`, 204],
    ['DELETE', '/v1/store/orders/0', 204],
  ])('%s %s is %i', async (method, target, status) => {
    expect(await send(method, target)).toMatchObject({ status });
  });

  test.each([
    '/v1/Store/orders',
    '/v1/store/orders/',
    '/v1/store//orders',
    '/v1/store/orders/1/',
    '/v1/store%2Forders',
    '/v1/store/orders%2F1',
    '/v1/store/orders%00',
    '/v1/store/../store/orders',
    '/v1',
    '/v1/pets',
  ])('%s does not exist, which only callers with a key can see', async (target) => {
    expectRateLimitHeaders(await expectError(await send('GET', target), 'route_not_found'));
    expectRateLimitHeaders(await expectError(await send('GET', target, 'unknown'), 'invalid_api_key'));
  });

  test.each([
    '/V1/store/orders',
    '//v1/store/orders',
    '/v1%2Fstore/orders',
    '/v1x',
    '/store/orders',
    '/favicon.ico',
    '/*',
  ])('%s is outside of the API: 404, and not counted', async (target) => {
    const response = await expectError(await send('GET', target), 'route_not_found');
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });
});

test('a path that ends in a slash in place of an id has an empty id, which is invalid', async () => {
  await expectError(await send('DELETE', '/v1/store/orders/'), 'invalid_request');
  await expectError(await send('GET', '/v1/pets/'), 'invalid_request');
  await expectError(await send('OPTIONS', '/v1/store/orders/'), 'route_not_found');
  await expectError(await send('POST', '/v1/store/orders/'), 'route_not_found');
});

describe('an id that is no 64-bit integer in plain decimal digits is 400, and changes nothing', () => {
  test.each(['0x1', '%201', '%00', '1%2F2', '9223372036854775808', '1'.repeat(10_000)])('%s', async (id) => {
    for (const [method, path] of [
      ['DELETE', '/v1/store/orders'],
      ['GET', '/v1/pets'],
    ] as const) {
      const response = await expectError(await send(method, `${path}/${id}`), 'invalid_request');
      expect(response.body).not.toContain(id.length > 3 ? id : '\u0000');
    }
  });
});

describe('a malformed URL is 400 before anything else', () => {
  test.each<[target: string, key: string | undefined, isCounted: boolean]>([
    ['/v1/store/orders/%', undefined, true],
    ['/v1/store/orders/%zz', '', true],
    ['/v1/store/orders/%C0%80', 'unknown', true],
    ['/v1/%', undefined, true],
    ['/%76%31/%', undefined, true],
    ['/trpc/%', undefined, true],
    ['/%', undefined, false],
    ['/docs/%', undefined, false],
    ['http://', undefined, true],
    ['http://[', '', true],
    ['http://x:y:z', 'unknown', true],
    ['http://x:y:z/v1/store/orders', undefined, true],
    ['https://%zz/', undefined, true],
    ['*', undefined, true],
  ])('%s with the key %s', async (target, key, isCounted) => {
    const response = await send('GET', target, key);
    expect(response.headers['x-request-id']).toBeTruthy();
    const code: ErrorCode = 'invalid_request';
    if (target.startsWith('/trpc'))
      expect(response).toMatchObject({ status: 400, body: expect.stringContaining(code) });
    else await expectError(response, code);
    if (isCounted) expectRateLimitHeaders(response);
    else expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  test('it counts for the key of the request', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const remaining = async (target: string) => (await send('GET', target, key)).headers['x-ratelimit-remaining'];
    expect(await remaining('/v1/store/orders')).toBe('9');
    await send('GET', '/v1/%', key);
    expect(await remaining('/v1/store/orders')).toBe('7');
  });

  test('it is not told to wait if its key is over its limit', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
    expect((await send('GET', '/v1/store/orders', key)).status).toBe(200);
    expect((await send('GET', '/v1/store/orders', key)).headers).toHaveProperty('retry-after');
    const { status, headers } = await send('GET', '/v1/%', key);
    expect(status).toBe(400);
    expect(headers).toMatchObject({ 'x-ratelimit-remaining': '0' });
    expect(headers).not.toHaveProperty('retry-after');
  });

  test('it is 400 also if its key cannot be looked up', async () => {
    await using failing = await startTestApp({
      wrap: {
        apiKeys: (apiKeys) =>
          overriding(apiKeys, {
            async findSecret() {
              throw new StorageUnavailableError('PostgreSQL does not respond.');
            },
          }),
      },
    });
    const key = (await createKey(failing.persistence)).text;
    const sendFailing = (target: string) => sendOne(request(target, key), { port: failing.port });
    expect((await sendFailing('/v1/store/orders')).status).toBe(503);
    await expectError(await sendFailing('/v1/%'), 'invalid_request');
  });
});
