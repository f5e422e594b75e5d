import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestRedis, startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import type { Subject } from '../src/index.ts';
import { RedisLimiter, stateKeyOf } from '../src/redis-limiter.ts';
import { describeLimiter } from './support/limiter-contract.ts';
import { newAddress, newKey } from './support/traffic.ts';

// One of its own, because calls are counted.
const server = await startRedisServer();
const redis = new Redis(server.url);
afterAll(async () => {
  await redis.quit();
  await server[Symbol.asyncDispose]();
});

const T0 = 1_700_000_000_000;

describeLimiter('the limiter in Redis', () => {
  let nowMs = 0;
  return {
    limiter: new RedisLimiter({ redis, nowMs: () => nowMs }),
    setNow: (ms) => {
      nowMs = ms;
    },
  };
});

const calls = async (command: string): Promise<number> => {
  const stats = await redis.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
};

test('a request is one round trip, whatever becomes of it, and requests of one tick share one', async () => {
  const limiter = new RedisLimiter({ redis });
  const subject = newKey(2, 10);
  await limiter.check(subject, 1); // the script is known from here on
  const before = await calls('evalsha');
  for (let i = 0; i < 5; i++) await limiter.check(subject, 1);
  await Promise.all(Array.from({ length: 100 }, () => limiter.check(newKey(10, 10), 1)));
  expect((await calls('evalsha')) - before).toBe(6);
});

test('goes by the clock of Redis when it is given none', async () => {
  const { atMs } = await new RedisLimiter({ redis }).check(newKey(5, 5), 1);
  const [seconds] = await redis.time();
  expect(Math.abs(atMs - Number(seconds) * 1000)).toBeLessThan(2_000);
});

test('every key has a time to live, after every kind of call', async () => {
  const limiter = new RedisLimiter({ redis });
  const key = newKey(2, 10);
  const address = newAddress();
  const ttl = ({ name }: Subject) => redis.ttl(stateKeyOf(name));
  const [day, minute] = [86_400 + 900, 60 + 1];
  await limiter.check(key, 1);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1); // refused
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.lift(key);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.lift(address);
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  await limiter.check(address, 1);
  expect(await ttl(address)).toBeGreaterThan(minute - 10);
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  await limiter.lift(newKey(2, 10)); // that was never used
  for (const name of await redis.keys('*')) expect(await redis.pttl(name)).not.toBe(-1); // it may be gone by now
});

test('a key takes little memory when it is new, and a known most when it is full', async () => {
  let nowMs = T0;
  const limiter = new RedisLimiter({ redis, nowMs: () => nowMs });
  const memory = async ({ name }: Subject) => Number(await redis.call('MEMORY', 'USAGE', stateKeyOf(name)));
  const fresh = newKey(60, 1_000);
  await limiter.check(fresh, 1);
  expect(await memory(fresh)).toBeLessThanOrEqual(160);
  // A Business key whose day is used up in every second of it, and which goes on.
  const full = newKey(1_000, 100_000);
  const underHigherPlan = { ...full, perMinute: 10_000, perDay: 200_000 };
  for (let i = 0; i < 96; i++, nowMs += 900_000) await limiter.check(underHigherPlan, 1_050);
  for (let i = 0; i < 61; i++, nowMs += 1_000) await limiter.check(underHigherPlan, 17);
  for (let i = 0; i < 50; i++) await limiter.check(full, 1);
  expect((await limiter.peek(full)).refusals).toBe(50);
  expect(await memory(full)).toBeGreaterThan(1_000);
  expect(await memory(full)).toBeLessThanOrEqual(1_400);
});

test('the level of the longest ban is kept for 24 h after its end', async () => {
  let nowMs = T0;
  const limiter = new RedisLimiter({ redis, nowMs: () => nowMs });
  const subject = newKey(1, 1_000);
  for (const level of [1, 2, 3, 4]) {
    let decision = await limiter.check(subject, 1);
    while (decision.outcome !== 'banned') decision = await limiter.check(subject, 1);
    expect(decision.level).toBe(level);
    if (level < 4) nowMs = decision.bannedUntilMs + 61_000;
  }
  expect(await redis.pttl(stateKeyOf(subject.name))).toBeGreaterThan(3_600_000 + 86_400_000 - 10_000);
});

describe('another value under the key of a subject', () => {
  const limiter = new RedisLimiter({ redis, nowMs: () => T0 });

  test.each([
    ['a list', (key: string) => redis.rpush(key, 'a list')],
    ['text', (key: string) => redis.set(key, 'x'.repeat(100))],
    [
      'a state without a level',
      (key: string) =>
        redis.eval(
          "return redis.call('SET', KEYS[1], cmsgpack.pack({ minute = { 0 }, day = { 0 }, refusals = { 0 }, bannedUntil = 0 }))",
          1,
          key,
        ),
    ],
  ])('counts as none, for that key alone, and is overwritten: %s', async (_, write) => {
    const [subject, other] = [newKey(5, 5), newKey(5, 5)];
    await write(stateKeyOf(subject.name));
    const decisions = await Promise.all([other, subject, other].map((each) => limiter.check(each, 1)));
    expect(decisions.map(({ minute }) => minute.remaining)).toEqual([4, 4, 3]);
    expect(await limiter.check(subject, 1)).toMatchObject({ minute: { remaining: 3 } });
  });
});

test('a user of Redis who may not read is told so, instead of being admitted for ever', async () => {
  await redis.call('ACL', 'SETUSER', 'writer', 'on', '>secret', '~*', '+@all', '-get');
  const writer = new Redis(server.port, { username: 'writer', password: 'secret' });
  await expect(new RedisLimiter({ redis: writer }).check(newKey(5, 5), 1)).rejects.toThrow(
    /permission|can't run this command/,
  );
  writer.disconnect();
});

test('what replies, and is no Redis, is a call that failed', async () => {
  const impostor = createServer((socket) => {
    socket.on('data', (data) => {
      const commands = data.toString().match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write('+OK\r\n'.repeat(commands));
    });
  });
  await once(impostor.listen(0, '127.0.0.1'), 'listening');
  const { port } = impostor.address() as AddressInfo; // it listens on TCP
  const client = new Redis(port, { enableReadyCheck: false });
  await expect(new RedisLimiter({ redis: client }).check(newKey(5, 5), 1)).rejects.toThrow('invalid reply');
  client.disconnect();
  impostor.close();
});

const PROCESS = fileURLToPath(new URL('./support/limiter-process.ts', import.meta.url));
const run = promisify(execFile);

test('several processes together admit exactly the limit of each key', async () => {
  await using database = await createTestRedis();
  const [processes, perMinute, keys] = [4, 2_000, ['one', 'other', 'third']];
  // More than all keys admit, and so few for each process that none can take all: they really run side by side.
  const requests = 3_000;
  const parameters = [database.url, keys.join(), perMinute, requests, 50, processes].map(String);
  const outputs = await Promise.all(
    Array.from({ length: processes }, () => run(process.execPath, [PROCESS, ...parameters])),
  );
  const admitted: { key: string; remaining: number }[] = outputs.flatMap(({ stdout }) => JSON.parse(stdout));
  for (const key of keys) {
    // Each number was returned once: some serial order explains all decisions.
    const remaining = admitted.filter((request) => request.key === key).map((request) => request.remaining);
    expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: perMinute }, (_, i) => perMinute - 1 - i));
  }
}, 60_000);
