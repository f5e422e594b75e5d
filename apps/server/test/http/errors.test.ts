import { ApiError, ERROR_CATALOGUE, type ErrorCode, refusalOf } from '@petstore/api';
import { DomainError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { errorHandler } from '../../src/http/responses.ts';
import { Metrics } from '../../src/operations/metrics.ts';
import { expectError } from './support/expect-error.ts';
import { sendOne } from './support/raw-http.ts';
import { startTestApp } from './support/test-app.ts';

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
  test('each of the catalogue, by a link relative to where it came from', async () => {
    const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // its own keys
    await using app = await startTestApp({
      isOfThisRelease: false,
      extend(fastify) {
        fastify.get<{ Params: { code: ErrorCode } }>('/raised/:code', ({ params }) => {
          throw refusalOf(params.code);
        });
      },
    });
    for (const code of codes) {
      const { headers } = await expectError(await app.fetch(`/raised/${code}`, { key: null }), code);
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
});
