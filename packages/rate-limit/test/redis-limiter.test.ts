import { startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { RedisLimiter } from '../src/index.ts';
import { eventually, PATIENT } from './fault-scenario.ts';
import { describeLimiter } from './limiter-contract.ts';
import { newAddress, newKey } from './traffic.ts';

// One of its own, because calls are counted.
const server = await startRedisServer();
const redis = new Redis(server.url);
afterAll(async () => {
  await redis.quit();
  await server[Symbol.asyncDispose]();
});

describeLimiter('the limiter in Redis', () => {
  let nowMs = 0;
  return {
    limiter: new RedisLimiter({ ...PATIENT, redis, nowMs: () => nowMs }),
    setNow: (ms) => {
      nowMs = ms;
    },
  };
});

const calls = async (command: string): Promise<number> => {
  const stats = await redis.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
};

test('requests that come in together go to Redis in one call', async () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis });
  await limiter.check(newKey(10, 10), 1); // the script is known from here on
  const before = await calls('evalsha');
  await Promise.all(Array.from({ length: 100 }, () => limiter.check(newKey(10, 10), 1)));
  expect((await calls('evalsha')) - before).toBe(1);
});

test('a request is one round trip, whatever becomes of it', async () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis });
  const subject = newKey(2, 10);
  await limiter.check(subject, 1);
  const before = await calls('evalsha');
  for (let i = 0; i < 5; i++) await limiter.check(subject, 1);
  expect((await calls('evalsha')) - before).toBe(5);
});

test('a cost that could never fit is told at once, by every way in', async () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis });
  expect(() => limiter.check(newKey(5, 5), 6)).toThrow('a whole number from 1 to its lowest limit, 5, not 6');
});

test('every key has a time to live, after every kind of call', async () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis });
  const key = newKey(2, 10);
  const address = newAddress();
  const ttl = async (subject: typeof key | typeof address) => {
    const seconds = await redis.ttl(subject.storageKey);
    return seconds;
  };
  const [day, minute] = [86_400 + 300 + 60, 60 + 1 + 60];
  await limiter.debit(key, { minute: 1, day: 1 });
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1); // refused
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.debit(address, { minute: 1, day: 1 });
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  await limiter.check(address, 1);
  expect(await ttl(address)).toBeGreaterThan(minute - 10);
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  for (const name of await redis.keys('*')) expect(await redis.pttl(name)).not.toBe(-1); // it may be gone by now
});

test('a key takes little memory when it is new, and a known most when it is full', async () => {
  let nowMs = 1_700_000_000_000;
  const limiter = new RedisLimiter({ ...PATIENT, redis, nowMs: () => nowMs });
  const memory = async (name: string) => Number(await redis.call('MEMORY', 'USAGE', name));
  const fresh = newKey(60, 1_000);
  await limiter.check(fresh, 1);
  expect(await redis.strlen(fresh.storageKey)).toBe(42);
  expect(await memory(fresh.storageKey)).toBeLessThanOrEqual(160);
  const full = newKey(1_000_000_000, 1_000_000_000);
  for (let i = 0; i < 290; i++, nowMs += 300_000) await limiter.check(full, 1);
  for (let i = 0; i < 61; i++, nowMs += 1_000) await limiter.check(full, 1);
  const bound = 60 + 8 * (61 + 289);
  expect(await redis.strlen(full.storageKey)).toBeLessThanOrEqual(bound);
  expect(await redis.strlen(full.storageKey)).toBeGreaterThan(bound - 8 * 5 - 60);
  // Redis allocates strings of this size by 512 bytes, and 100 bytes are its own.
  expect(await memory(full.storageKey)).toBeLessThanOrEqual(Math.ceil(bound / 512) * 512 + 100);
});

describe('a call that timed out', () => {
  /** A Redis that has stood still since a command was run, and goes on when it is told. */
  async function openFrozen(command: readonly [string, ...(string | number)[]]) {
    const server = await startRedisServer();
    const redis = new Redis(server.port);
    const patient = new RedisLimiter({ ...PATIENT, redis });
    const observer = { answered: vi.fn(), failed: vi.fn(), countedTwice: vi.fn(), debitLost: vi.fn() };
    const limiter = new RedisLimiter({ redis, observer });
    await patient.check(newAddress(), 1); // the script is known from here on
    const [name, ...parameters] = command;
    await redis.call(name, ...parameters);
    server.pause();
    return {
      limiter,
      patient,
      observer,
      resume: () => server.resume(),
      async [Symbol.asyncDispose]() {
        redis.disconnect();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  test('and is refused after all is reported, if it was a debit', async () => {
    await using frozen = await openFrozen(['CONFIG', 'SET', 'maxmemory', '1']);
    const { limiter, observer } = frozen;
    const subject = newKey(10, 10);
    await expect(limiter.debit(subject, { minute: 2, day: 3 })).rejects.toMatchObject({ mayHaveRun: true });
    expect(observer.debitLost).not.toHaveBeenCalled();
    frozen.resume();
    await eventually(() => expect(observer.debitLost.mock.calls).toEqual([[subject, { minute: 2, day: 3 }]]));
    expect(observer.failed).toHaveBeenCalledTimes(1);
  });

  test('and runs after all is reported, if the request was counted elsewhere and was admitted here', async () => {
    await using frozen = await openFrozen(['PING']);
    const { limiter, patient, observer } = frozen;
    const [elsewhere, nowhere] = [newKey(10, 10), newKey(10, 10)];
    const failed = vi.fn();
    limiter.send(
      elsewhere,
      2,
      () => expect.fail(),
      () => {
        failed();
        return true;
      },
    );
    limiter.send(
      nowhere,
      2,
      () => expect.fail(),
      () => {
        failed();
        return false;
      },
    );
    await eventually(() => expect(failed).toHaveBeenCalledTimes(2));
    frozen.resume();
    await eventually(() => expect(observer.countedTwice.mock.calls).toEqual([[elsewhere, 2]]));
    expect(await patient.peek(nowhere)).toMatchObject({ used: { minute: 2 } });
    expect(observer.debitLost).not.toHaveBeenCalled();
  });
});
