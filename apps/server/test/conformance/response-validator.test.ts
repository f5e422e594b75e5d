import { openApiDocument } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { describeApi } from './described-api.ts';
import { type Exchanged, ResponseValidator } from './response-validator.ts';

const servers = [{ url: 'http://127.0.0.1/v1' }];
const validate = (exchanged: Exchanged) =>
  new ResponseValidator([describeApi(openApiDocument({ servers }))]).check(exchanged);

const COMMON = {
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1796115660',
  'ratelimit-policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
  ratelimit: '"minute";r=0;t=60, "day";r=999;t=86400',
  'x-request-id': 'a',
  'content-type': 'application/json',
};
const LIST: Exchanged = {
  method: 'GET',
  url: '/v1/store/orders?a=b',
  status: 200,
  headers: COMMON,
  body: '[{"id":9223372036854775807,"petId":-1,"quantity":1,"shipDate":"2026-12-01T09:30:00.000Z","complete":false},{}]',
};
const { 'content-type': _, ...BODILESS } = COMMON;
const CANCEL: Exchanged = { method: 'DELETE', url: '/v1/store/orders/1', status: 204, headers: BODILESS, body: '' };
const failure = (status: number, code: string) => ({ status, body: JSON.stringify({ code, message: 'No.', status }) });
const REFUSED: Exchanged = {
  ...LIST,
  ...failure(429, 'rate_limit_exceeded'),
  headers: { ...COMMON, 'retry-after': '12' },
};
const without = (headers: Exchanged['headers'], name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([own]) => own !== name));

describe('a response conforms', () => {
  test.each<[string, Exchanged]>([
    ['a list', LIST],
    ['HEAD', { ...LIST, method: 'HEAD', body: '' }],
    ['a cancellation', CANCEL],
    ['a refusal', REFUSED],
    [
      'a wrong method',
      { ...LIST, method: 'PUT', ...failure(405, 'method_not_allowed'), headers: { ...COMMON, allow: 'GET' } },
    ],
    ['OPTIONS', { ...CANCEL, method: 'OPTIONS', headers: { ...BODILESS, allow: 'DELETE, OPTIONS' } }],
    ['nothing there', { ...LIST, url: '/v1/nothing', ...failure(404, 'route_not_found') }],
    [
      'a path that misses',
      { ...LIST, url: '/v1/store/orders/', meantFor: 'listOrders', ...failure(404, 'route_not_found') },
    ],
    ['what is not of the interface', { ...LIST, url: '/docs', headers: {}, body: 'x' }],
  ])('%s', (_name, exchanged) => {
    expect(validate(exchanged)).toEqual([]);
  });
});

describe('a response does not conform', () => {
  test.each<[string, Exchanged]>([
    ['202 is not documented', { ...LIST, status: 202 }],
    ['the header X-RateLimit-Reset is missing', { ...LIST, headers: without(COMMON, 'x-ratelimit-reset') }],
    ['the header Retry-After is missing', { ...REFUSED, headers: COMMON }],
    [
      'the header X-RateLimit-Remaining must be integer',
      { ...LIST, headers: { ...COMMON, 'x-ratelimit-remaining': '1.5' } },
    ],
    ['the header RateLimit must match pattern', { ...LIST, headers: { ...COMMON, ratelimit: 'limit=60' } }],
    ['the header x-powered-by is not documented', { ...LIST, headers: { ...COMMON, 'x-powered-by': 'x' } }],
    ['the header deprecation is not documented', { ...LIST, headers: { ...COMMON, deprecation: '@1' } }],
    ['the header Deprecation is missing', { ...LIST, url: '/v1/pets/1', ...failure(404, 'pet_not_found') }],
    ['the media type text/plain is not documented', { ...LIST, headers: { ...COMMON, 'content-type': 'text/plain' } }],
    ['the body/0/id must be integer', { ...LIST, body: '[{"id":"1"}]' }],
    ['there is a body, or a type of one, where none is due', { ...CANCEL, body: 'x' }],
    ['an response to HEAD has a body', { ...LIST, method: 'HEAD' }],
    ['the body/code must be equal to one of the allowed values', { ...LIST, ...failure(500, 'order_not_found') }],
    [
      'the body says 500',
      {
        ...LIST,
        ...failure(500, 'internal_error'),
        status: 503,
        headers: { ...COMMON, 'retry-after': '5' },
        body: '{"code":"overloaded","message":"No.","status":500}',
      },
    ],
    [
      'a 204 has a body',
      { ...CANCEL, method: 'OPTIONS', headers: { ...BODILESS, allow: 'DELETE, OPTIONS' }, body: 'x' },
    ],
    [
      'the body/code must be equal to one of the allowed values',
      { ...LIST, url: '/v1/store/orders/', meantFor: 'listOrders', ...failure(404, 'order_not_found') },
    ],
    ['no Allow', { ...CANCEL, method: 'OPTIONS' }],
    ['204 is no failure', { ...CANCEL, method: 'PUT' }],
  ])('%s', (wrong, exchanged) => {
    expect(validate(exchanged).join('\n')).toContain(wrong);
  });
});
