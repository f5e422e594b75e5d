import { describe, expect, test } from 'vitest';
import { request, sendOne } from '../http/support/raw-http.ts';
import { withListing } from '../http/support/replaced-parts.ts';
import { startTestApp, useTestApp } from '../http/support/test-app.ts';
import { ResponseValidator } from './response-validator.ts';
import { APIS } from './watch-responses.ts';

const app = await useTestApp();
const validator = new ResponseValidator(APIS);

describe('the check of responses finds', () => {
  test.each([
    ['a success that links to help', 'GET', '?limit=1', { link: '</docs>; rel="help"' }],
    ['an error that links to none', 'GET', '?limit=x', { link: '' }],
    ['an error that links to two', 'GET', '?limit=x', { link: '</docs>; rel="help", </docs>; rel="help"' }],
    ['an error with a link of another kind', 'GET', '?limit=x', { link: '</docs>; rel="next", </docs>; rel="help"' }],
    ['the end of a key that does not end', 'GET', '', { 'x-api-key-expires': 'Mon, 01 Mar 2027 12:00:00 GMT' }],
    ['a response that may be kept', 'GET', '', { 'cache-control': 'max-age=60' }],
    ['a response whose type may be guessed', 'GET', '', { 'x-content-type-options': '' }],
    ['a tag to ask by', 'GET', '', { etag: '"1"' }],
    ['a 204 with a length', 'OPTIONS', '', { 'content-length': '0' }],
    ['a 204 with a type', 'OPTIONS', '', { 'content-type': 'text/plain' }],
    ['OPTIONS that leaves a method out', 'OPTIONS', '', { allow: 'GET, OPTIONS' }],
    ['a 405 that leaves a method out', 'PUT', '', { allow: 'GET, OPTIONS' }],
  ])('%s', async (_, method, query, own) => {
    const url = `/v2/store/orders${query}`;
    const response = await sendOne(request(url, app.key, method), { port: app.port, method });
    const check = (more: Readonly<Record<string, string>>) =>
      validator.check({ ...response, method, url, headers: { ...response.headers, ...more } });
    expect(check({})).toEqual([]);
    expect(check(own)).not.toEqual([]);
  });
});

test('a response that is not as documented fails the test that caused it', async () => {
  async function* wrongOrders() {
    const order = {
      id: '"1"',
      petId: '7',
      quantity: '2',
      shipDate: undefined,
      status: 'pending',
      complete: false,
    } as const;
    yield { orders: [order], isLast: true };
  }
  const other = await startTestApp({ wrap: { orders: (orders) => withListing(orders, wrongOrders) } });
  expect((await other.fetch('/v1/store/orders')).status).toBe(200);
  await expect(other[Symbol.asyncDispose]()).rejects.toThrow(
    'GET /v1/store/orders: 200: the body/0/id must be integer',
  );
});
