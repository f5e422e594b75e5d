import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { connectRedis, type LimiterStateChange, type RateLimitDecision, ResilientLimiter } from '../src/index.ts';
import {
  eventually,
  movableClock,
  openScenario,
  PATIENT,
  runUnderLoad,
  sleep,
  untilAway,
  untilInUse,
  WAIT_MAX_MS,
  watchLag,
} from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { newAddress, newKey } from './support/traffic.ts';

/** Requests that one caller has under way, one after the other, until Redis counts as away. */
const UNTIL_AWAY_MAX = 5;

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
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    await untilAway(limiter);
    expect(countedIn(changes)).toEqual(['process']);

    await server.restart(); // with nothing in it
    await untilInUse(limiter);
    // What was counted there before is forgiven.
    await eventually(async () => expect((await limiter.peek(subject)).used).toEqual({ minute: 100, day: 100 }));
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });

  test('is frozen, no request waits for long, and it is used again when it goes on', async () => {
    await using scenario = await openScenario();
    const { limiter, server, changes } = scenario;
    const subjects = Array.from({ length: 20 }, () => newKey(20, 100_000));
    await Promise.all(subjects.map((subject) => limiter.check(subject, 1)));
    const isAdmitted = ({ outcome }: RateLimitDecision) => outcome === 'admitted';
    const frozen = await runUnderLoad(limiter, subjects, async (decisions) => {
      server.pause();
      // A second at least, so that a probe is among what has timed out; three would renew the connection, after which
      // it is not known what has run.
      await sleep(1_200);
      await eventually(() => expect(decisions.filter(isAdmitted).length).toBeGreaterThanOrEqual(20 * 19));
    });
    expect(frozen.longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    expect(frozen.admitted).toBe(20 * 19);
    server.resume();
    await untilInUse(limiter);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
    // Every request counts. What was under way when Redis froze has run after all, and counts twice.
    const usedOf = async () =>
      (await Promise.all(subjects.map((subject) => limiter.peek(subject)))).map(({ used }) => used);
    await eventually(async () => expect((await usedOf()).every(({ minute }) => minute >= 20)).toBe(true));
    const twice = (await usedOf()).reduce((sum, { minute }) => sum + minute - 20, 0);
    expect(twice).toBeLessThanOrEqual(10 * UNTIL_AWAY_MAX);
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
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
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
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    expect(admitted).toBe(decisions.length);
    expect((await limiter.peek(subject)).used.minute).toBe(admitted);
    expect(changes).toEqual([]);
  });

  test.each([
    {
      state: 'is out of memory',
      hurt: ['CONFIG', 'SET', 'maxmemory', '1mb'],
      heal: ['CONFIG', 'SET', 'maxmemory', '0'],
      says: 'OOM',
    },
    {
      state: 'becomes a read-only replica',
      hurt: ['REPLICAOF', '127.0.0.1', '1'],
      heal: ['REPLICAOF', 'NO', 'ONE'],
      says: 'name the primary',
    },
    {
      state: 'is a replica without its master that may not answer',
      config: { 'replica-serve-stale-data': 'no' },
      hurt: ['REPLICAOF', '127.0.0.1', '1'],
      heal: ['REPLICAOF', 'NO', 'ONE'],
      says: 'MASTERDOWN',
    },
  ])('$state, requests are counted here until it is well again', async ({ hurt, heal, says, config = {} }) => {
    await using scenario = await openScenario({ ...PATIENT, config });
    const { limiter, changes } = scenario;
    const subject = newKey(300, 100_000);
    await limiter.check(subject, 100);
    const { admitted, longestWaitMs } = await runUnderLoad(limiter, [subject], async (decisions) => {
      const [name = '', ...parameters] = hurt;
      await scenario.command(name, ...parameters);
      await eventually(() => expect(decisions.at(-1)?.outcome).toBe('refused'));
    });
    expect(admitted).toBe(200);
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    await untilAway(limiter);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.stringContaining(says) }]);
    const [name = '', ...parameters] = heal;
    await scenario.command(name, ...parameters);
    await untilInUse(limiter);
    // Nothing was lost, and what was refused was not counted: all 300 are there.
    await eventually(async () => expect((await limiter.peek(subject)).used).toEqual({ minute: 300, day: 300 }));
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });

  test.each([
    ['holds clients up', ['CLIENT', 'PAUSE', '1200']],
    ['is busy with something else', ['DEBUG', 'SLEEP', '1.2']],
  ])('%s, no request waits for it', async (_, [name = '', ...parameters]) => {
    await using scenario = await openScenario({ config: { 'enable-debug-command': 'yes' } });
    const { limiter, changes } = scenario;
    const subjects = Array.from({ length: 20 }, () => newKey(1_000, 100_000));
    const { longestWaitMs } = await runUnderLoad(limiter, subjects, async () => {
      await sleep(50);
      await scenario.command(name, ...parameters);
      // It may be back by now.
      await eventually(() => expect(countedIn(changes)).toEqual(['process', 'redis']));
    });
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });

  test('is not there at the start, everything is counted here until it comes', async () => {
    const server = await startRedisServer();
    await server.kill();
    const redis = connectRedis({ type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false });
    const changes: LimiterStateChange[] = [];
    const limiter = new ResilientLimiter({ redis, onStateChange: (change) => changes.push(change) });
    const subject = newKey(5, 100);
    for (let i = 0; i < 7; i++) await limiter.check(subject, 1);
    expect(changes).toEqual([]);
    await limiter.started;
    expect(countedIn(changes)).toEqual(['process']);
    await server.restart();
    await untilInUse(limiter);
    await eventually(async () => expect((await limiter.peek(subject)).used).toEqual({ minute: 5, day: 5 }));
    expect(countedIn(changes)).toEqual(['process', 'redis']);
    limiter.close();
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  test.each(['was made before', 'is still to be made'])(
    'is there and only this process is held up at the start, it is not reported as away: a connection that %s',
    async (connection) => {
      await using server = await startRedisServer();
      const redis = connectRedis(
        { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false },
        PATIENT,
      );
      if (connection === 'was made before') await eventually(() => expect(redis.status).toBe('ready'));
      const changes: LimiterStateChange[] = [];
      const limiter = new ResilientLimiter({ redis, onStateChange: (change) => changes.push(change) });
      const heldUpUntilMs = performance.now() + 1_100;
      while (performance.now() < heldUpUntilMs); // nothing is read meanwhile
      await limiter.started;
      expect(changes).toEqual([]);
      expect(limiter.isDegraded).toBe(false);
      limiter.close();
      redis.disconnect();
    },
  );

  test('does not respond at the start, that lasts for little more than a second', async () => {
    await using server = await startRedisServer();
    const redis = connectRedis({ type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false });
    server.pause();
    const changes: LimiterStateChange[] = [];
    const lag = watchLag();
    const beganAtMs = performance.now();
    const limiter = new ResilientLimiter({ redis, onStateChange: (change) => changes.push(change) });
    await limiter.started;
    expect(performance.now() - beganAtMs - lag.totalMs).toBeLessThan(1_000 + WAIT_MAX_MS);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.any(String) }]);
    lag.stop();
    limiter.close();
    redis.disconnect();
    server.resume();
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
    expect((await limiter.check(newKey(300, 300), 200)).outcome).toBe('admitted'); // a batch that fits no share
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

  test('a request is decided without a promise', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter } = scenario;
    await scenario.kill();
    const subject = newKey(1_000, 1_000);
    await eventually(async () => {
      await limiter.check(subject, 1);
      expect(limiter.isDegraded).toBe(true);
    });
    expect(limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted' });
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
      await eventually(async () => expect((await limiter.peek(subject)).used).toEqual({ minute: 9, day: 9 }));
    }
  });

  test('a server without a request learns of it, and of its return', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server, changes } = scenario;
    await server.kill();
    await eventually(() => expect(limiter.isDegraded).toBe(true));
    await server.restart();
    await untilInUse(limiter);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });
});
