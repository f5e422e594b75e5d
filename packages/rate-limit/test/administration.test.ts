import { startRedisServer } from '@petstore/testing';
import { afterAll, describe, expect, test } from 'vitest';
import {
  connectRedis,
  connectToAdministrate,
  RateLimitAdministration,
  type RedisLocation,
  ResilientLimiter,
} from '../src/index.ts';
import { RedisLimiter } from '../src/redis-limiter.ts';
import { eventually, movableClock, PATIENT, untilInUse } from './support/fault-scenario.ts';
import { hammer, newKey } from './support/traffic.ts';

// One of its own, because calls are counted.
const server = await startRedisServer();
const location = locate(server.url);
const administration = await connectToAdministrate(location);
const redis = connectRedis(location, PATIENT);
const clock = movableClock();
const limiter = new ResilientLimiter({ redis, nowMs: clock.nowMs });
await untilInUse(limiter);
afterAll(async () => {
  limiter.close();
  redis.disconnect();
  await administration[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function locate(url: string): RedisLocation {
  const { hostname: host, port, pathname } = new URL(url);
  return { type: 'single', host, port: Number(port), database: Number(pathname.slice(1)), tls: false };
}

describe('an operator', () => {
  test('reads the status of a key, which costs it nothing', async () => {
    const subject = newKey(60, 1_000);
    await limiter.check(subject, 7);
    for (let i = 0; i < 3; i++) {
      expect(await administration.readStatus(subject)).toMatchObject({
        minute: { limit: 60, used: 7, remaining: 53 },
        day: { limit: 1_000, used: 7, remaining: 993 },
        refusals: 0,
        ban: undefined,
      });
    }
    expect(await administration.readStatus(newKey(60, 1_000))).toMatchObject({ minute: { used: 0 }, day: { used: 0 } });
  });

  test('lists the keys that are banned, and lifts a ban, which holds within 5 s', async () => {
    const subject = newKey(3, 1_000);
    await hammer(limiter, subject);
    const { ban: inForce } = await administration.readStatus(subject);
    expect(inForce).toMatchObject({ level: 1 });
    const listed = { subject: subject.name, untilMs: inForce?.untilMs, level: 1 };
    await eventually(async () => expect(await administration.listBans()).toEqual([listed]));

    expect(await administration.liftBan(subject.name)).toEqual(inForce);
    expect(await administration.listBans()).toEqual([]);
    expect(await administration.readStatus(subject)).toMatchObject({
      minute: { used: 3 },
      refusals: 0,
      ban: undefined,
    });
    expect((await limiter.check(subject, 1)).outcome).toBe('banned'); // still remembered here
    clock.advance(5_000);
    expect((await limiter.check(subject, 1)).outcome).toBe('refused');
  });

  test('lifts refusals and level with the ban, and nothing of what was used', async () => {
    const later = movableClock();
    const other = new ResilientLimiter({ redis, nowMs: later.nowMs });
    await untilInUse(other);
    const subject = newKey(3, 1_000);
    const banLengthMs = async () => {
      later.advance(61_000); // past what is used of the minute
      await hammer(other, subject);
      const { atMs, ban: inForce } = await other.peek(subject);
      return (inForce?.untilMs ?? 0) - atMs;
    };
    expect(await banLengthMs()).toBeGreaterThan(50_000);
    later.advance(60_000);
    expect(await banLengthMs()).toBeGreaterThan(4 * 60_000); // the second is of 5 minutes
    await administration.liftBan(subject.name);
    expect(await administration.readStatus(subject)).toMatchObject({ day: { used: 6 }, refusals: 0, ban: undefined });
    expect(await banLengthMs()).toBeLessThanOrEqual(60_000); // a first one again
    await administration.liftBan(subject.name);
    other.close();
  });

  test('lifts nothing from a key that is not banned, or that was never used', async () => {
    const subject = newKey(3, 1_000);
    expect(await administration.liftBan(subject.name)).toBeUndefined();
    await limiter.check(subject, 1);
    expect(await administration.liftBan(subject.name)).toBeUndefined();
    expect(await administration.readStatus(subject)).toMatchObject({ minute: { used: 1 } });
  });

  test('lifts a ban while the key is in use', async () => {
    const subject = newKey(3, 1_000);
    await hammer(limiter, subject);
    const other = new RateLimitAdministration(redis);
    const counts = new RedisLimiter({ redis });
    let admitted = 0;
    const use = async () => {
      const { outcome } = await counts.check({ ...subject, perMinute: 1_000 }, 1);
      if (outcome === 'admitted') admitted++;
    };
    const uses = Array.from({ length: 20 }, async () => {
      for (let i = 0; i < 20; i++) await use();
    });
    expect(await other.liftBan(subject.name)).toMatchObject({ level: 1 });
    await Promise.all(uses);
    expect(admitted).toBeGreaterThan(0);
    expect(await administration.readStatus(subject)).toMatchObject({ minute: { used: 3 + admitted }, ban: undefined });
  });
});

describe('a ban', () => {
  test('is refused from memory: a key that hammers costs Redis close to nothing', async () => {
    const subject = newKey(3, 1_000);
    await hammer(limiter, subject);
    const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const [before, beginMs] = [await calls(), performance.now()];
    const first = await limiter.check(subject, 1);
    for (let i = 0; i < 10_000; i++) {
      const decision = limiter.check(subject, 1);
      const { outcome } = decision instanceof Promise ? await decision : decision;
      if (outcome !== 'banned') expect.fail(outcome);
    }
    const asked = 1 + Math.ceil((performance.now() - beginMs) / 5_000); // a ban is remembered for 5 s
    expect((await calls()) - before).toBeLessThanOrEqual(asked);
    expect(first).toMatchObject({ outcome: 'banned', retryAfterSeconds: expect.any(Number) });
  });
});
