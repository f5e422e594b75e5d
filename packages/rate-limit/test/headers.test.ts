import { describe, expect, test } from 'vitest';
import { rateLimitHeaders as headersOf, RATE_LIMIT_HEADERS, type RateLimitDecision } from '../src/index.ts';

const T0 = 1_700_000_000_000;
const minute = { limit: 60, used: 55, remaining: 5, resetAtMs: T0 + 12_345 };
const day = { limit: 1_000, used: 300, remaining: 700, resetAtMs: T0 + 3_600_001 };
const admitted: RateLimitDecision = { outcome: 'admitted', atMs: T0, minute, day };
const refusal = {
  atMs: T0,
  limitingWindow: 'minute',
  releaseAtMs: T0 + 12_345,
  retryAtMs: T0 + 13_500,
  retryAfterSeconds: 14,
} as const;

test('an admitted request shows the window with the lowest remaining, in seconds rounded up', () => {
  expect(headersOf(admitted)).toEqual({
    'x-ratelimit-limit': 60,
    'x-ratelimit-remaining': 5,
    'x-ratelimit-reset': T0 / 1000 + 13,
    'ratelimit-policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
    ratelimit: '"minute";r=5;t=13, "day";r=700;t=3601',
  });
});

test('a key whose day is used up sees that, however much the minute has left', () => {
  const headers = headersOf({ ...admitted, minute: { ...minute, remaining: 59 }, day: { ...day, remaining: 0 } });
  expect(headers).toMatchObject({
    'x-ratelimit-limit': 1_000,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': T0 / 1000 + 3_601,
  });
  const same = headersOf({ ...admitted, day: { ...day, remaining: 5 } });
  expect(same, 'of two with the same remaining the longer').toMatchObject({ 'x-ratelimit-limit': 1_000 });
});

test('a client address has the minute alone', () => {
  expect(headersOf({ ...admitted, day: undefined })).toEqual({
    'x-ratelimit-limit': 60,
    'x-ratelimit-remaining': 5,
    'x-ratelimit-reset': T0 / 1000 + 13,
    'ratelimit-policy': '"minute";q=60;w=60',
    ratelimit: '"minute";r=5;t=13',
  });
});

describe('a refused request', () => {
  test('shows one time: when to come back, which may be later than when it would fit', () => {
    const used = { ...minute, remaining: 0 };
    expect(headersOf({ outcome: 'refused', ...refusal, minute: used, day })).toEqual({
      'x-ratelimit-limit': 60,
      'x-ratelimit-remaining': 0,
      'x-ratelimit-reset': T0 / 1000 + 14,
      'ratelimit-policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      ratelimit: '"minute";r=0;t=14, "day";r=700;t=3601',
      'retry-after': 14,
    });
  });

  test('shows the window that releases last, even where another has less remaining', () => {
    const byDay: RateLimitDecision = {
      outcome: 'refused',
      atMs: T0,
      minute: { ...minute, remaining: 0 },
      day: { ...day, remaining: 2 },
      limitingWindow: 'day',
      releaseAtMs: T0 + 7_200_000,
      retryAtMs: T0 + 7_200_000,
      retryAfterSeconds: 7_200,
    };
    expect(headersOf(byDay)).toMatchObject({
      'x-ratelimit-limit': 1_000,
      'x-ratelimit-remaining': 2,
      'x-ratelimit-reset': T0 / 1000 + 7_200,
      'retry-after': 7_200,
    });
  });

  test('of a banned key has nothing remaining, and shows the end of the ban', () => {
    const banned: RateLimitDecision = {
      outcome: 'banned',
      ...refusal,
      minute,
      day,
      bannedUntilMs: T0 + 60_000,
      level: 1,
      isNew: true,
      releaseAtMs: T0 + 60_000,
      retryAtMs: T0 + 60_000,
      retryAfterSeconds: 60,
    };
    expect(headersOf(banned)).toEqual({
      'x-ratelimit-limit': 60,
      'x-ratelimit-remaining': 0,
      'x-ratelimit-reset': T0 / 1000 + 60,
      'ratelimit-policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      ratelimit: '"minute";r=0;t=60, "day";r=0;t=60',
      'retry-after': 60,
    });
  });
});

test('a status that is no decision has no Retry-After, even where nothing remains', () => {
  const status = { outcome: 'last known', atMs: T0, minute: { ...minute, remaining: 0 }, day } as const;
  expect(headersOf(status)).toMatchObject({ 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': T0 / 1000 + 13 });
  expect(headersOf(status)).not.toHaveProperty('retry-after');
});

test('every header that is written is named, so that browsers may be let read it', () => {
  const written = Object.keys(headersOf({ outcome: 'refused', ...refusal, minute, day }));
  expect(RATE_LIMIT_HEADERS.map((name) => name.toLowerCase()).sort()).toEqual(written.sort());
});

test('no header tells a time that has passed, however long the response took', () => {
  const elapsedMs = 20_000;
  expect(headersOf(admitted, elapsedMs)).toMatchObject({
    'x-ratelimit-reset': (T0 + elapsedMs) / 1000,
    ratelimit: '"minute";r=5;t=0, "day";r=700;t=3581',
  });
});
