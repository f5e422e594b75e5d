import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { expect } from 'vitest';
import type { RawResponse } from './raw-http.ts';

/** Responses of fetch and of a raw connection in one form. */
async function toRawResponse(response: Response | RawResponse): Promise<RawResponse> {
  if (!(response instanceof Response)) return response;
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, reason: response.statusText, headers, body: await response.text() };
}

/** Expects the documented Error object, with the headers of every error. */
export async function expectError(response: Response | RawResponse, code: ErrorCode): Promise<RawResponse> {
  const raw = await toRawResponse(response);
  expect({ status: raw.status, body: JSON.parse(raw.body) }).toEqual({
    status: ERROR_CATALOGUE[code].status,
    body: { code, message: expect.stringMatching(/\S/), status: ERROR_CATALOGUE[code].status },
  });
  expect(raw.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(raw.body.length),
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9_-]{1,64}$/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    link: expect.stringMatching(new RegExp(`(?:^|, )<[^>]*/docs/errors/${code}>; rel="help"$`)),
  });
  return raw;
}

/** Expects rate limit headers, in whole numbers. */
export function expectRateLimitHeaders({ headers }: Pick<RawResponse, 'headers'>): void {
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    expect(headers[name], name).toMatch(/^\d+$/);
  }
  expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000 - 5);
  expect(headers['ratelimit']).toMatch(/^"minute";r=\d+;t=\d+/);
  expect(headers['ratelimit-policy']).toMatch(/^"minute";q=\d+;w=60/);
}
