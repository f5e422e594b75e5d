import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { listNotedBans, noteBan } from '../src/redis/ban-index.ts';

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
