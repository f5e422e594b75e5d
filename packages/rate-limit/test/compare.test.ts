import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { LIMIT, WINDOW_MS } from '../compare/contender.ts';
import { CONTENDERS } from '../compare/contenders/index.ts';
import { measureBytes } from '../compare/cost.ts';
import { admissionsOf, type Exchange, exactRelease, exchangeAt, sleepUntil, worstWindow } from '../compare/exchange.ts';

test.each(CONTENDERS)('$name admits a burst of the limit, and says when to come back', async (contender) => {
  await using database = await createTestRedis();
  await using opened = await contender.open(database.url);
  // Where windows are minutes of the clock, none ends meanwhile.
  const [nowMs, neededMs] = [Date.now(), 10_000];
  if (nowMs % WINDOW_MS > WINDOW_MS - neededMs) await sleepUntil(Math.ceil(nowMs / WINDOW_MS) * WINDOW_MS);
  const sent = 2 * LIMIT;
  const exchanges = await exchangeAt(opened, 'caller00', Array<number>(sent).fill(Date.now()));
  const admitted = admissionsOf(exchanges).length;
  // Some free one a second, and this machine may be slow.
  expect(admitted).toBeGreaterThanOrEqual(LIMIT);
  expect(admitted).toBeLessThan(sent);
  for (const { verdict, sentMs, receivedMs } of exchanges) {
    if (verdict.outcome === 'admitted') continue;
    expect(verdict).toEqual({ outcome: 'refused', retryAtMs: expect.any(Number) });
    if (verdict.outcome !== 'refused' || verdict.retryAtMs === undefined) continue;
    expect(verdict.retryAtMs).toBeGreaterThan(sentMs);
    // Retry-After is rounded up, and this package gives returns different times.
    expect(verdict.retryAtMs).toBeLessThanOrEqual(receivedMs + 2 * WINDOW_MS);
  }
  const redis = new Redis(database.url);
  expect(await measureBytes(redis, 'caller00')).toBeGreaterThan(0);
  redis.disconnect();
});

const admission = (sentMs: number, receivedMs = sentMs): Exchange => ({
  sentMs,
  receivedMs,
  verdict: { outcome: 'admitted' },
});
const many = (count: number, atMs: number): Exchange[] => Array.from({ length: count }, () => admission(atMs));

test('the worst window has every request that surely lies in it, wherever it begins', () => {
  expect(worstWindow([])).toBe(0);
  expect(worstWindow([...many(LIMIT, 59_000), ...many(LIMIT, 61_000)])).toBe(2);
  expect(worstWindow([...many(LIMIT, 1_000), ...many(LIMIT, 61_000)])).toBe(1);
  // Received after the window, it may have been admitted after it.
  expect(worstWindow([...many(LIMIT, 1_000), admission(60_990, 61_000)])).toBe(1);
  expect(worstWindow([...many(LIMIT, 1_000), { ...admission(2_000), verdict: { outcome: 'failed' } }])).toBe(1);
});

test('an exact log admits again when the oldest admission of a full window leaves it', () => {
  expect(exactRelease(many(LIMIT - 1, 1_000), 5_000)).toBe(5_000);
  expect(exactRelease([...many(3, 1_000), ...many(LIMIT - 3, 4_000)], 5_000)).toBe(61_000);
  expect(exactRelease([...many(3, 1_000), ...many(LIMIT, 4_000)], 5_000)).toBe(64_000);
});
