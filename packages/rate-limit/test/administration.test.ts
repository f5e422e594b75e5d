import { startRedisServer } from '@petstore/testing';
import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  type ApiKeySubject,
  connectRedis,
  connectToAdministrate,
  RateLimitAdministration,
  type RedisLocation,
  ResilientLimiter,
} from '../src/index.ts';
import { apiKeyIdOf } from '../src/subject.ts';
import { eventually, PATIENT, untilInUse } from './fault-scenario.ts';
import { newKey } from './traffic.ts';

// One of its own, because calls are counted.
const server = await startRedisServer();
const location = locate(server.url);
const administration = await connectToAdministrate(location);
const redis = connectRedis(location);
const limiter = new ResilientLimiter({ ...PATIENT, redis });
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

const idOf = ({ storageKey }: ApiKeySubject) => apiKeyIdOf(storageKey);

/** Uses up the minute and hammers until the key is banned. */
async function ban(subject: ApiKeySubject): Promise<void> {
  await limiter.check(subject, subject.perMinute);
  await limiter.check(subject, 1);
  await new Promise((resolve) => setTimeout(resolve, 2_010));
  for (let i = 0; i < subject.perMinute; i++) await limiter.check(subject, 1);
}

describe('an operator', () => {
  test('sees where a key stands, which costs it nothing', async () => {
    const subject = newKey(60, 1_000);
    await limiter.check(subject, 7);
    for (let i = 0; i < 3; i++) {
      expect(await administration.showStanding(subject)).toMatchObject({
        used: { minute: 7, day: 7 },
        minute: { limit: 60, remaining: 53 },
        day: { limit: 1_000, remaining: 993 },
        strikes: 0,
        ban: undefined,
      });
    }
    expect(await administration.showStanding(newKey(60, 1_000))).toMatchObject({ used: { minute: 0, day: 0 } });
  });

  test('lists the keys that are banned, and lifts a ban, which holds within 5 s', async () => {
    const subject = newKey(3, 1_000);
    await ban(subject);
    const { ban: inForce } = await administration.showStanding(subject);
    expect(inForce).toMatchObject({ level: 1 });
    const listed = { keyId: idOf(subject), untilMs: inForce?.untilMs, level: 1 };
    await eventually(async () => expect(await administration.listBans()).toEqual([listed]));

    expect(await administration.liftBan(idOf(subject))).toBe(true);
    expect(await administration.listBans()).toEqual([]);
    expect(await administration.showStanding(subject)).toMatchObject({
      used: { minute: 3 },
      strikes: 0,
      ban: undefined,
    });
    expect((await limiter.check(subject, 1)).outcome).toBe('api_key_banned'); // still remembered here
    const nowMs = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs() + 5_000);
    try {
      expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
    } finally {
      clock.mockRestore();
    }
  });

  test('lifts nothing from a key that is not banned, or that nobody knows', async () => {
    const subject = newKey(3, 1_000);
    expect(await administration.liftBan(idOf(subject))).toBe(false);
    await limiter.check(subject, 1);
    expect(await administration.liftBan(idOf(subject))).toBe(false);
    expect(await administration.showStanding(subject)).toMatchObject({ used: { minute: 1 } });
  });

  test('lifts a ban while the key is in use', async () => {
    const subject = newKey(3, 1_000);
    await ban(subject);
    const other = new RateLimitAdministration(redis);
    const uses = Array.from({ length: 200 }, () => limiter.debit(subject, { minute: 1, day: 1 }));
    expect(await other.liftBan(idOf(subject))).toBe(true);
    await Promise.all(uses);
    expect(await administration.showStanding(subject)).toMatchObject({ used: { minute: 203 }, ban: undefined });
  });

  test('is told why where there is no Redis', async () => {
    const nobodyListens = locate('redis://127.0.0.1:1');
    await expect(connectToAdministrate(nobodyListens)).rejects.toThrow(
      /There is no connection to Redis: .*ECONNREFUSED/,
    );
  });
});

describe('a ban', () => {
  test('is answered from memory: a key that hammers costs Redis close to nothing', async () => {
    const subject = newKey(3, 1_000);
    await ban(subject);
    const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const [before, beginMs] = [await calls(), performance.now()];
    const first = await limiter.check(subject, 1);
    for (let i = 0; i < 100_000; i++) {
      const decision = limiter.check(subject, 1);
      if (decision instanceof Promise) await decision;
      else expect(decision.outcome).toBe('api_key_banned');
    }
    const asked = 1 + Math.ceil((performance.now() - beginMs) / 5_000); // a ban is remembered for 5 s
    expect((await calls()) - before).toBeLessThanOrEqual(asked);
    expect(first).toMatchObject({ outcome: 'api_key_banned', retryAfterSeconds: expect.any(Number) });
  });
});
