import type { ApiKeyId } from '@petstore/domain';
import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { countNotedBans, forgetBans, listNotedBans, noteBan, noteLift, takeLift } from '../src/redis/ban-index.ts';

const NOW_MS = 1_700_000_000_000;

async function openIndex() {
  const database = await createTestRedis();
  const redis = new Redis(database.url);
  return {
    redis,
    async [Symbol.asyncDispose]() {
      await redis.quit();
      await database[Symbol.asyncDispose]();
    },
  };
}

test('the longest ban can be listed until its end', async () => {
  await using index = await openIndex();
  await noteBan(index.redis, 'key', { untilMs: NOW_MS + 3_600_000, nowMs: NOW_MS });
  expect(await listNotedBans(index.redis, 10)).toEqual(['key']);
  expect(await index.redis.pttl('rl:bans')).toBeGreaterThan(3_600_000);
});

test('bans that are over are forgotten with the next one, so that the list does not grow for ever', async () => {
  await using index = await openIndex();
  for (let i = 0; i < 100; i++) {
    const nowMs = NOW_MS + i * 20_000;
    await noteBan(index.redis, `key ${i}`, { untilMs: nowMs + 60_000, nowMs });
  }
  expect(await listNotedBans(index.redis, 1_000)).toEqual(['key 99', 'key 98', 'key 97']);
});

test('the keys that are banned are counted by the clock of Redis: neither ended bans nor lifted ones', async () => {
  await using index = await openIndex();
  expect(await countNotedBans(index.redis)).toBe(0);
  const [seconds] = await index.redis.time();
  const nowMs = Number(seconds) * 1_000;
  for (const [i, aheadMs] of [-1_000, 30_000, 60_000, 3_600_000].entries()) {
    await noteBan(index.redis, `key ${i}`, { untilMs: nowMs + aheadMs, nowMs: nowMs - 10_000 });
  }
  expect(await countNotedBans(index.redis)).toBe(3);
  await forgetBans(index.redis, ['key 2']);
  expect(await countNotedBans(index.redis)).toBe(2);
});

test('each note of a lifted ban is taken once, the oldest first', async () => {
  await using index = await openIndex();
  const lifts = ['aaaaaaaa', 'bbbbbbbb'].map((id, i) => ({
    keyId: id as ApiKeyId, // as generated ones
    level: i + 1,
    untilMs: NOW_MS + 0.5,
  }));
  for (const lift of lifts) await noteLift(index.redis, lift);
  expect(await Promise.all([takeLift(index.redis), takeLift(index.redis), takeLift(index.redis)])).toEqual([
    ...lifts,
    undefined,
  ]);
});

test('notes that no server takes are bounded, and forgotten after an hour', async () => {
  await using index = await openIndex();
  const notes = Array.from({ length: 1_100 }, (_, i) => ({ keyId: `key${i}` as ApiKeyId, level: 1, untilMs: NOW_MS }));
  await Promise.all(notes.map((note) => noteLift(index.redis, note)));
  expect(await index.redis.llen('rl:lifts')).toBe(1_000);
  expect(await takeLift(index.redis)).toEqual(notes[100]);
  const ttlMs = await index.redis.pttl('rl:lifts');
  expect(ttlMs).toBeGreaterThan(3_500_000);
  expect(ttlMs).toBeLessThanOrEqual(3_600_000);
});
