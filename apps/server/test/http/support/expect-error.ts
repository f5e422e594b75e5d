import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { expect } from 'vitest';
import type { RawAnswer } from './raw-http.ts';

/** An answer of fetch or of a raw connection, alike. */
async function toRawAnswer(answer: Response | RawAnswer): Promise<RawAnswer> {
  if (!(answer instanceof Response)) return answer;
  const headers = Object.fromEntries(answer.headers);
  return { status: answer.status, reason: answer.statusText, headers, body: await answer.text() };
}

/** Whether an answer is the documented Error object, with everything that every error has. */
export async function expectError(answer: Response | RawAnswer, code: ErrorCode): Promise<RawAnswer> {
  const raw = await toRawAnswer(answer);
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
  });
  return raw;
}

/** Whether an answer tells of a limit, in whole numbers. */
export function expectRateLimitHeaders({ headers }: Pick<RawAnswer, 'headers'>): void {
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    expect(headers[name], name).toMatch(/^\d+$/);
  }
  expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000 - 5);
  expect(headers['ratelimit']).toMatch(/^"minute";r=\d+;t=\d+/);
  expect(headers['ratelimit-policy']).toMatch(/^"minute";q=\d+;w=60/);
}
