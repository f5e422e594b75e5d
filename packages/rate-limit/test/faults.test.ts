import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { connectRedis, type LimiterStateChange } from '../src/index.ts';
import {
  eventually,
  movableClock,
  openLimiter,
  openScenario,
  PATIENT,
  runUnderLoad,
  sleep,
  untilAway,
  untilInUse,
} from './support/fault-scenario.ts';
import { hammer, newAddress, newKey } from './support/traffic.ts';

const countedIn = (changes: readonly LimiterStateChange[]) => changes.map((change) => change.countedIn);

describe('when Redis', () => {
  test('is killed, requests are counted here from empty, and Redis decides on its return', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server, changes } = scenario;
    const subject = newKey(300, 100_000);
    await limiter.check(subject, 200);
    const { admitted, longestWaitMs } = await runUnderLoad(limiter, [subject], async (decisions) => {
      await server.kill();
      await eventually(() => expect(decisions.at(-1)?.outcome).toBe('refused'));
    });
    // The whole limit here, and perhaps some of what was left in Redis before.
    expect(admitted).toBeGreaterThanOrEqual(300);
    expect(admitted).toBeLessThanOrEqual(300 + 100);
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    await untilAway(limiter);
    expect(countedIn(changes)).toEqual(['process']);

    await server.restart(); // with nothing in it
    await untilInUse(limiter);
    expect(await limiter.check(subject, 1)).toMatchObject({
      outcome: 'admitted',
      minute: { used: 1 },
      day: { used: 1 },
    });
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });

  test('is flushed, no request fails', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, changes } = scenario;
    const subject = newKey(1_000_000, 1_000_000);
    const { longestWaitMs, decisions } = await runUnderLoad(limiter, [subject], async () => {
      await sleep(100);
      await scenario.command('FLUSHALL');
      await sleep(100);
    });
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    expect(decisions.every(({ outcome }) => outcome === 'admitted')).toBe(true);
    expect(changes).toEqual([]);
  });

  test('is flushed, limits start over: nobody remembers what it has lost', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, command } = scenario;
    const subject = newKey(10, 10);
    await limiter.check(subject, 10);
    expect((await limiter.check(subject, 1)).outcome).toBe('refused');
    await command('FLUSHALL');
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', day: { remaining: 9 } });
  });

  test('forgets its scripts, they are sent again and every request counts once', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, changes } = scenario;
    const subject = newKey(1_000_000, 1_000_000);
    const { longestWaitMs, admitted, decisions } = await runUnderLoad(limiter, [subject], async () => {
      for (let i = 0; i < 20; i++) {
        await scenario.command('SCRIPT', 'FLUSH');
        await sleep(20);
      }
    });
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    expect(admitted).toBe(decisions.length);
    expect((await limiter.peek(subject)).minute.used).toBe(admitted);
    expect(changes).toEqual([]);
  });

  test('is out of memory, requests are counted here until it is well again', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, changes } = scenario;
    const subject = newKey(300, 100_000);
    await limiter.check(subject, 100);
    const { admitted, longestWaitMs } = await runUnderLoad(limiter, [subject], async (decisions) => {
      await scenario.command('CONFIG', 'SET', 'maxmemory', '1mb');
      await eventually(() => expect(decisions.at(-1)?.outcome).toBe('refused'));
    });
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    await untilAway(limiter);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.stringContaining('OOM') }]);
    await scenario.command('CONFIG', 'SET', 'maxmemory', '0');
    await untilInUse(limiter);
    // It knows what it knew before, and nothing of the whole limit that was admitted meanwhile.
    const { minute, day } = await limiter.peek(subject);
    expect(minute.used - 100 + 300).toBe(admitted);
    expect(day?.used).toBe(minute.used);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });
});

describe('while Redis is away', () => {
  test('each of several instances admits its share of each limit', async () => {
    await using scenario = await openScenario({ ...PATIENT, instances: 3 });
    const { limiter } = scenario;
    const [used, unused, address] = [newKey(300, 100_000), newKey(300, 30), newAddress()];
    await limiter.check(used, 240);
    await limiter.check(address, 1);
    await scenario.kill();
    const admittedOf = async (subject: typeof used | typeof address) => {
      let admitted = 0;
      while ((await limiter.check(subject, 1)).outcome === 'admitted') admitted += 1;
      return admitted;
    };
    expect(await admittedOf(used)).toBe(100);
    expect(await admittedOf(unused)).toBe(10);
    expect(await admittedOf(address)).toBe(20);
    expect(await limiter.check(used, 1)).toMatchObject({ minute: { limit: 100, remaining: 0 } });
    expect(await limiter.check(newKey(300, 300), 101)).toMatchObject({ outcome: 'refused', retryAfterSeconds: 1 });
  });

  test('ten instances admit a limit once between them, however batches are cut', async () => {
    await using server = await startRedisServer();
    const location = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
    const opened = await Promise.all(
      Array.from({ length: 10 }, () => openLimiter({ redis: connectRedis(location, PATIENT), instances: 10 })),
    );
    await server.kill();
    const key = newKey(60, 1_000);
    const admittedOf = async (cost: number) => {
      const decisions = await Promise.all(opened.map(({ limiter }) => limiter.check(key, cost)));
      return decisions.filter(({ outcome }) => outcome === 'admitted').length * cost;
    };
    expect(await admittedOf(60)).toBe(0);
    expect(await admittedOf(7)).toBe(0);
    expect(await admittedOf(6)).toBe(60);
    expect(await admittedOf(1)).toBe(0);
    for (const each of opened) each[Symbol.dispose]();
  });

  test('requests are counted from empty, each time anew', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server, changes } = scenario;
    const subject = newKey(100, 150);
    for (let i = 0; i < 2; i++) {
      await scenario.kill();
      await untilAway(limiter);
      expect(await limiter.check(subject, 100)).toMatchObject({ outcome: 'admitted', day: { remaining: 50 } });
      expect((await limiter.check(subject, 1)).outcome).toBe('refused');
      await server.restart();
      await untilInUse(limiter);
    }
    expect(countedIn(changes)).toEqual(['process', 'redis', 'process', 'redis']);
  });

  test('a call that fails by itself is decided here', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, changes } = scenario;
    const [subject, other] = [newKey(10, 100), newKey(10, 100)];
    await scenario.kill();
    expect(limiter.isDegraded).toBe(false);
    expect(await limiter.check(subject, 10)).toMatchObject({ outcome: 'admitted', minute: { remaining: 0 } });
    expect(await limiter.peek(subject)).toMatchObject({ minute: { remaining: 0 } });
    expect(await limiter.peek(other)).toMatchObject({ minute: { remaining: 10 } });
    expect(changes).toEqual([]);
  });

  test('a ban that was known stays in force for 5 s, and hammering brings one, which ends when Redis is back', async () => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter, server } = scenario;
    const [banned, hammering] = [newKey(2, 100), newKey(2, 100)];
    await limiter.check(hammering, 1);
    await hammer(limiter, banned);
    await scenario.kill();
    await untilAway(limiter);
    expect((await limiter.check(banned, 1)).outcome).toBe('banned');
    clock.advance(5_000);
    expect((await limiter.check(banned, 1)).outcome).toBe('admitted');
    await hammer(limiter, hammering);
    expect((await limiter.peek(hammering)).ban).toMatchObject({ level: 1 });
    await server.restart();
    await untilInUse(limiter);
    expect((await limiter.check(hammering, 1)).outcome).toBe('admitted');
  });

  test('an address that was refused before stays so for as long as it was told', async () => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter } = scenario;
    const address = newAddress();
    for (let i = 0; i < 61; i++) await limiter.check(address, 1);
    await scenario.kill();
    await untilAway(limiter);
    expect((await limiter.check(address, 1)).outcome).toBe('refused');
    clock.advance(61_000);
    expect((await limiter.check(address, 1)).outcome).toBe('admitted');
  });
});
