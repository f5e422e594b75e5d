import { StorageUnavailableError } from '@petstore/domain';
import { TRPCError } from '@trpc/server';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ApiError,
  ERROR_CATALOGUE,
  type ErrorCode,
  errorResponse,
  failureOf,
  toApiError,
  toErrorResponse,
} from '../src/index.ts';

const CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // the catalogue's own keys

describe('a response over REST', () => {
  test('holds exactly code, message and status', () => {
    for (const code of CODES) {
      const { status, message } = ERROR_CATALOGUE[code];
      for (const answer of [errorResponse(code), toErrorResponse(new ApiError(code))]) {
        expect(JSON.parse(answer.body)).toStrictEqual({ code, message, status });
        expect(answer).toMatchObject({ code, message, status });
      }
    }
  });

  test('has the message of an error that differs from the catalogue', () => {
    const { body } = toErrorResponse(new ApiError('invalid_request', 'orderId: no.'));
    expect(JSON.parse(body)).toStrictEqual({ code: 'invalid_request', message: 'orderId: no.', status: 400 });
  });

  test.each([
    ['missing_api_key', { 'www-authenticate': 'Bearer realm="petstore"' }],
    [
      'invalid_api_key',
      { 'www-authenticate': expect.stringMatching(/^Bearer realm="petstore", error="invalid_token", /) },
    ],
    ['insufficient_scope', { 'www-authenticate': 'Bearer realm="petstore", error="insufficient_scope"' }],
    ['rate_limit_exceeded', { 'cache-control': 'no-store' }],
    ['too_many_in_flight', { 'retry-after': '1', 'cache-control': 'no-store' }],
    ['api_key_banned', { 'cache-control': 'no-store' }],
    ['service_unavailable', { 'retry-after': '5' }],
    ['overloaded', { 'retry-after': '1' }],
    ['order_not_found', {}],
  ] as const)('carries the headers of its code: %s', (code, headers) => {
    expect(errorResponse(code).headers).toEqual(headers);
  });
});

describe('whatever is thrown', () => {
  test.each([
    ['an error of ours', new Error('select * from secrets')],
    ['nothing', undefined],
    ['an object', { code: 'order_not_found', message: 'secret' }],
    ['what tRPC wraps', new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: new Error('secret') })],
    ["what fails a procedure's own output check", new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: 'secret' })],
  ])('gets a bland response: %s', (_, thrown) => {
    const { code, body, status } = toErrorResponse(thrown);
    expect([code, status]).toEqual(['internal_error', 500]);
    expect(body).not.toContain('secret');
  });

  test('is reported to the operator as it was thrown', () => {
    const cause = new Error('select');
    expect(failureOf(cause)).toEqual({ severity: 'error', cause });
    expect(failureOf(new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause }))).toEqual({ severity: 'error', cause });
  });

  test('because a store is away is service_unavailable, however deep it lies', () => {
    const away = new StorageUnavailableError('connection refused at 10.0.0.1');
    for (const thrown of [away, new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: away })]) {
      expect(toErrorResponse(thrown)).toEqual(errorResponse('service_unavailable'));
      expect(failureOf(thrown)).toEqual({ severity: 'warn', cause: away });
    }
  });

  test('for the caller alone is nothing to the operator', () => {
    for (const code of CODES.filter((c) => ERROR_CATALOGUE[c].status < 500)) {
      expect(failureOf(new ApiError(code))).toBeUndefined();
    }
  });

  test('by tRPC has a code of ours, and says none of its words', () => {
    // The table's own keys.
    for (const code of Object.keys(TRPC_ERROR_CODES_BY_KEY) as TRPC_ERROR_CODE_KEY[]) {
      const { errorCode, message } = toApiError(new TRPCError({ code, message: 'secret' }));
      expect(ERROR_CATALOGUE[errorCode].message).toBe(message);
    }
  });

  test('by zod names a field once, however many of its values are wrong', () => {
    const { error } = z.object({ a: z.array(z.int('must be whole')) }).safeParse({ a: [0.5, 1, 1.5] });
    expect(toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: error })).message).toBe('a: must be whole.');
  });

  test('by zod names at most five issues, and no value', () => {
    const field = z.int().max(3);
    const schema = z.strictObject({ a: field, b: field, c: field, d: field, e: field, f: z.enum(['x']) });
    const { error } = schema.safeParse({ a: 9, b: 9, c: 9, d: 9, e: 9, f: 'secret', secret: 1 });
    const { message } = toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: error }));
    expect(message).toMatch(/^a: [^;]*; b: [^;]*; c: [^;]*; d: [^;]*; e: [^;]*; and 2 more\.$/);
    expect(message).not.toContain('secret');
    const unknown = schema.safeParse({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 'x', secret: 1 }).error;
    expect(toErrorResponse(new TRPCError({ code: 'BAD_REQUEST', cause: unknown })).message).toBe(
      'The input: contains an unknown field.',
    );
  });
});
