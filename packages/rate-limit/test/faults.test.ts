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
  test('is killed, requests are counted here from where it left them, and debited on its return', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server, changes } = scenario;
    const subject = newKey(300, 100_000);
    await limiter.check(subject, 200);
    const { admitted, decisions, longestWaitMs } = await runUnderLoad(limiter, [subject], async (decisions) => {
      await server.kill();
      await eventually(() => expect(decisions.at(-1)?.outcome).toBe('refused'));
    });
    expect(admitted).toBe(100);
    expect(decisions.at(-1)).toMatchObject({ outcome: expect.not.stringContaining('admitted') });
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    await untilAway(limiter);
    expect(countedIn(changes)).toEqual(['process']);

    await server.restart(); // with nothing in it
    await untilInUse(limiter);
    // What was counted there before is forgiven.
    await eventually(async () =>
      expect(await limiter.peek(subject)).toMatchObject({ minute: { used: 100 }, day: { used: 100 } }),
    );
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
    expect(admitted).toBe(200);
    expect(longestWaitMs).toBeLessThan(PATIENT.timeoutMs);
    await untilAway(limiter);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.stringContaining('OOM') }]);
    await scenario.command('CONFIG', 'SET', 'maxmemory', '0');
    await untilInUse(limiter);
    // Nothing was lost, and what was refused was not counted: all 300 are there.
    await eventually(async () =>
      expect(await limiter.peek(subject)).toMatchObject({ minute: { used: 300 }, day: { used: 300 } }),
    );
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });
});

describe('while Redis is away', () => {
  test('each of several instances admits its share of what was left', async () => {
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
    expect(await admittedOf(used)).toBe(20);
    expect(await admittedOf(unused)).toBe(10);
    expect(await admittedOf(address)).toBe(19);
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

  test('requests are counted from where Redis last left them, each time anew', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(100, 1_000);
    await limiter.check(subject, 10);
    await scenario.kill();
    for (let i = 0; i < 5; i++) await limiter.check(subject, 1);
    await eventually(() => expect(limiter.isDegraded).toBe(true));
    await server.restart();
    await untilInUse(limiter);
    expect(await limiter.check(subject, 60)).toMatchObject({ minute: { remaining: 35 } }); // it has lost the first 10
    await scenario.kill();
    expect(await limiter.check(subject, 36)).toMatchObject({ outcome: 'refused', minute: { remaining: 35 } });
    expect(await limiter.check(subject, 35)).toMatchObject({ outcome: 'admitted' });
  });

  test.each([
    ['minute', newKey(10, 100), 50_000],
    ['day', newKey(1_000, 100), 85_000_000],
  ])('a caller that was told to come back is admitted then: %s', async (_, subject, laterMs) => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter } = scenario;
    await limiter.check(subject, Math.min(subject.perMinute, subject.perDay ?? 0));
    clock.advance(laterMs);
    const refused = await limiter.check(subject, 1);
    if (refused.outcome !== 'refused') expect.fail();
    await scenario.kill();
    clock.advance(refused.retryAfterSeconds * 1_000 - 2_000);
    expect((await limiter.check(subject, 1)).outcome).toBe('refused');
    clock.advance(2_000);
    expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
    expect((await limiter.check(subject, 1)).outcome).toBe('refused'); // when the others are free again was not told
  });

  test('a ban that was known stays in force, and hammering brings one', async () => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter } = scenario;
    const [banned, hammering] = [newKey(2, 100), newKey(2, 100)];
    await limiter.check(hammering, 1);
    await hammer(limiter, banned);
    await scenario.kill();
    clock.advance(5_000); // past what is remembered of a ban
    expect((await limiter.check(banned, 1)).outcome).toBe('banned');
    await hammer(limiter, hammering);
    expect((await limiter.peek(hammering)).ban).toMatchObject({ level: 1 });
  });

  test('many keys are counted here, and each is debited on its return, also one that sends nothing more', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subjects = Array.from({ length: 500 }, () => newKey(10, 100));
    await scenario.kill();
    for (const subject of subjects) await limiter.check(subject, 9);
    await untilAway(limiter);
    await server.restart();
    await untilInUse(limiter);
    for (const subject of subjects) {
      await eventually(async () =>
        expect(await limiter.peek(subject)).toMatchObject({ minute: { used: 9 }, day: { used: 9 } }),
      );
    }
  });
});
