import { startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { RedisLimiter } from '../src/redis/redis-limiter.ts';
import { RedisUnavailableError } from '../src/redis/redis-unavailable-error.ts';
import { PATIENT } from './support/fault-scenario.ts';
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

test('requests of one tick share a script call', async () => {
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

test('goes by the clock of Redis when it is given none', async () => {
  const { atMs } = await new RedisLimiter({ ...PATIENT, redis }).check(newKey(5, 5), 1);
  const [seconds] = await redis.time();
  expect(Math.abs(atMs - Number(seconds) * 1000)).toBeLessThan(2_000);
});

test('every key has a time to live, after every kind of call', async () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis });
  const key = newKey(2, 10);
  const address = newAddress();
  const ttl = ({ storageKey }: typeof key | typeof address) => redis.ttl(storageKey);
  const [day, minute] = [86_400 + 300 + 60, 60 + 1 + 60];
  await limiter.debit(key, { minute: 1, day: 1 });
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.check(key, 1); // refused
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.pardon(key);
  expect(await ttl(key)).toBeGreaterThan(day - 10);
  await limiter.debit(address, { minute: 1, day: 1 });
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  await limiter.check(address, 1);
  expect(await ttl(address)).toBeGreaterThan(minute - 10);
  expect(await ttl(address)).toBeLessThanOrEqual(minute);
  await limiter.pardon(newKey(2, 10)); // that was never used
  for (const name of await redis.keys('*')) expect(await redis.pttl(name)).not.toBe(-1); // it may be gone by now
});

test('a key takes little memory when it is new, and a known most when it is full', async () => {
  let nowMs = T0;
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

describe('another value under the key of a subject', () => {
  const limiter = new RedisLimiter({ ...PATIENT, redis, nowMs: () => T0 });

  test.each([
    ['a list', (key: string) => redis.rpush(key, 'a list')],
    ['nothing', (key: string) => redis.set(key, '')],
    ['text', (key: string) => redis.set(key, 'x'.repeat(100))],
    ['a state of another version', (key: string) => redis.set(key, `\u0009${'\u0000'.repeat(100)}`)],
  ])('is overwritten: %s', async (_, write) => {
    const subject = newKey(5, 5);
    await write(subject.storageKey);
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 4 } });
  });

  test.each([
    ['cut short', (state: Buffer) => state.subarray(0, -1)],
    ['too long', (state: Buffer) => Buffer.concat([state, Buffer.alloc(3)])],
    ['of another version', (state: Buffer) => Buffer.concat([Buffer.of(9), state.subarray(1)])],
  ])('is not read: a state that is %s', async (_, damage) => {
    const subject = newKey(5, 5);
    await limiter.check(subject, 3);
    expect((await limiter.peek(subject)).used).toEqual({ minute: 3, day: 3 });
    const state = (await redis.getBuffer(subject.storageKey)) ?? expect.fail();
    await redis.set(subject.storageKey, damage(state));
    expect((await limiter.peek(subject)).used).toEqual({ minute: 0, day: 0 });
    expect(await limiter.pardon(subject)).toBe(false);
  });
});

describe('a call that timed out', () => {
  /** A Redis that is frozen after a command, until `resume`. */
  async function openFrozen(command: readonly [string, ...(string | number)[]]) {
    const server = await startRedisServer();
    const redis = new Redis(server.port);
    const patient = new RedisLimiter({ ...PATIENT, redis });
    await patient.check(newAddress(), 1); // the script is known from here on
    const [name, ...parameters] = command;
    await redis.call(name, ...parameters);
    server.pause();
    return {
      limiter: new RedisLimiter({ redis }),
      patient,
      resume: () => server.resume(),
      async [Symbol.asyncDispose]() {
        redis.disconnect();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  const failureOf = async (call: Promise<unknown>): Promise<RedisUnavailableError> => {
    const error = await call.then(
      () => expect.fail('it did not time out'),
      (cause: unknown) => cause,
    );
    if (!(error instanceof RedisUnavailableError)) throw error;
    return error;
  };

  test('and is refused after all reports that later', async () => {
    await using frozen = await openFrozen(['CONFIG', 'SET', 'maxmemory', '1']);
    const error = await failureOf(frozen.limiter.debit(newKey(10, 10), { minute: 2, day: 3 }));
    expect(error.mayHaveRun).toBe(true);
    frozen.resume();
    expect(await error.lateDecision).toBe('not run');
  });

  test('and runs after all reports its own decision later, whatever else was in the call', async () => {
    await using frozen = await openFrozen(['PING']);
    const { limiter, patient } = frozen;
    const [fits, other] = [newKey(10, 10), newKey(1, 10)];
    const checks = [limiter.check(fits, 2), limiter.check(other, 1), limiter.check(other, 1)];
    const errors = await Promise.all(checks.map(failureOf));
    frozen.resume();
    const outcomes = await Promise.all(
      errors.map(async ({ lateDecision }) => {
        const late = await lateDecision;
        return typeof late === 'string' ? late : late?.outcome;
      }),
    );
    expect(outcomes).toEqual(['admitted', 'admitted', 'rate_limit_exceeded']);
    expect(await patient.peek(fits)).toMatchObject({ used: { minute: 2 } });
  });
});
