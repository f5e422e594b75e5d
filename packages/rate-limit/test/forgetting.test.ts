import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import {
  type ApiKeySubject,
  connectRedis,
  connectToAdministrate,
  type RedisLocation,
  type ServingLimiter,
} from '../src/index.ts';
import { apiKeyIdOf } from '../src/subject.ts';
import {
  ask,
  eventually,
  movableClock,
  openLimiter,
  openScenario,
  PATIENT,
  runUnderLoad,
  sleep,
  untilInUse,
} from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { newAddress, newKey } from './support/traffic.ts';

/** As many as `runUnderLoad` sends at once. */
const CALLERS = 10;

const locationAt = (port: number): RedisLocation => ({
  type: 'single',
  host: '127.0.0.1',
  port,
  database: 0,
  tls: false,
});
const connectTo = (port: number) => connectRedis(locationAt(port));

const usedBy = async (limiter: ServingLimiter, subject: ApiKeySubject) => (await limiter.peek(subject)).used;

describe('a key that this process has seen is forgiven nothing, when Redis', () => {
  test('is restarted empty, three times, while requests come', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(1_000_000, 1_000);
    const { admitted } = await runUnderLoad(limiter, [subject], async (decisions) => {
      for (const after of [300, 600, 900]) {
        await eventually(() => expect(decisions.length).toBeGreaterThan(after));
        await server.kill();
        await eventually(() => expect(limiter.isDegraded).toBe(true));
        await server.restart();
        await untilInUse(limiter);
      }
      const before = decisions.length;
      await eventually(() => expect(decisions.length).toBeGreaterThan(before + 10 * CALLERS));
      await eventually(() => expect(decisions.at(-1)?.outcome).toBe('rate_limit_exceeded'));
    });
    // Those under way at a loss may pass, and those under way at a death may be counted twice.
    expect(admitted).toBeLessThanOrEqual(1_000 + 3 * CALLERS);
    expect(admitted).toBeGreaterThanOrEqual(1_000 - 3 * CALLERS);
    expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
  });

  test('is restarted empty, three times, after its day was used up', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    await limiter.check(subject, 1_000);
    let admitted = 0;
    for (let crash = 0; crash < 3; crash++) {
      await scenario.kill();
      for (let i = 0; i < 10; i++) expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
      await server.restart();
      await untilInUse(limiter);
      for (let i = 0; i < 100; i++) if ((await limiter.check(subject, 1)).outcome === 'admitted') admitted += 1;
    }
    expect(admitted).toBe(3);
    expect(await usedBy(limiter, subject)).toEqual({ minute: 1_003, day: 1_003 });
  });

  test.each([
    ['is flushed', ['FLUSHALL']],
    ['loses the key', ['DEL']],
  ])('%s, and every request counts', async (_, [command = '']) => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, changes } = scenario;
    const subject = newKey(1_000_000, 1_000_000);
    const { admitted, decisions } = await runUnderLoad(limiter, [subject], async () => {
      for (let i = 0; i < 5; i++) {
        await sleep(60);
        await scenario.command(command, ...(command === 'DEL' ? [subject.storageKey] : []));
      }
      await sleep(60);
    });
    expect(admitted).toBe(decisions.length);
    await limiter.check(subject, 1);
    const all = admitted + 1;
    await eventually(async () => expect(await usedBy(limiter, subject)).toEqual({ minute: all, day: all }));
    expect(changes).toEqual([]);
  });

  test('evicts the key for want of memory', async () => {
    await using scenario = await openScenario({
      ...PATIENT,
      config: { maxmemory: '3mb', 'maxmemory-policy': 'allkeys-lru' },
    });
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    await limiter.check(subject, 1_000);
    await ask(server.port, async (client) => {
      for (let i = 0; (await client.exists(subject.storageKey)) === 1; i++) {
        const pipeline = client.pipeline();
        for (let j = 0; j < 100; j++) pipeline.set(`other:${i}:${j}`, 'x'.repeat(100), 'PX', 60_000);
        await pipeline.exec();
      }
    });
    expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
    for (let i = 0; i < 10; i++) expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
    expect(await usedBy(limiter, subject)).toEqual({ minute: 1_001, day: 1_001 });
  });

  test('is replaced by a replica that lacks the last writes', async () => {
    await using master = await startRedisServer({ config: { 'repl-diskless-sync-delay': 0 } });
    await using replica = await startRedisServer({ config: { replicaof: `127.0.0.1 ${master.port}` } });
    await using proxy = new TcpProxy(master.port);
    using opened = await openLimiter({ ...PATIENT, redis: connectTo(await proxy.listen()) });
    const { limiter } = opened;
    const subject = newKey(1_000, 1_000);
    await limiter.check(subject, 300);
    await ask(replica.port, async (client) => {
      await eventually(async () => expect(await client.exists(subject.storageKey)).toBe(1), 30_000);
      await client.call('REPLICAOF', '127.0.0.1', 1); // cut off
    });
    await limiter.check(subject, 500);
    await master.kill();
    await eventually(async () => {
      await limiter.check(newAddress(), 1);
      expect(limiter.isDegraded).toBe(true);
    });
    await ask(replica.port, (client) => client.call('REPLICAOF', 'NO', 'ONE'));
    proxy.switchTo(replica.port);
    await untilInUse(limiter);
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', day: { remaining: 699 } });
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', day: { remaining: 198 } });
  });

  test('is empty when it comes back: what was counted before it went counts, and what was counted here meanwhile', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(1_000, 1_000);
    await limiter.check(subject, 400);
    await scenario.kill();
    await limiter.check(subject, 100);
    await eventually(async () => {
      await limiter.check(newAddress(), 1);
      expect(limiter.isDegraded).toBe(true);
    });
    await limiter.check(subject, 100);
    await server.restart();
    await untilInUse(limiter);
    await limiter.check(subject, 1);
    expect(await limiter.check(subject, 1)).toMatchObject({ minute: { remaining: 398 }, day: { remaining: 398 } });
  });
});

describe('of several processes', () => {
  test('one that has seen a key counts it again for all, and no use is counted twice', async () => {
    await using server = await startRedisServer();
    using one = await openLimiter({ ...PATIENT, redis: connectTo(server.port) });
    using other = await openLimiter({ ...PATIENT, redis: connectTo(server.port) });
    const [seenByOne, seenByBoth] = [newKey(1_000, 1_000), newKey(1_000, 1_000)];
    await one.limiter.check(seenByOne, 600);
    for (const { limiter } of [one, other]) await limiter.check(seenByBoth, 300);
    await ask(server.port, (client) => client.flushall());

    expect(await other.limiter.check(seenByOne, 1)).toMatchObject({ day: { remaining: 999 } });
    await one.limiter.check(seenByOne, 1);
    await eventually(async () => expect((await usedBy(one.limiter, seenByOne)).day).toBeGreaterThanOrEqual(601));
    expect((await usedBy(one.limiter, seenByOne)).day).toBeLessThanOrEqual(602);

    await Promise.all([one, other].map(({ limiter }) => limiter.check(seenByBoth, 1)));
    await eventually(async () => expect((await usedBy(other.limiter, seenByBoth)).day).toBeGreaterThanOrEqual(601));
    expect((await usedBy(other.limiter, seenByBoth)).day).toBeLessThanOrEqual(602);
  });
});

describe('a ban', () => {
  test('that Redis forgets is set again, with its level, and listed again', async () => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter, server } = scenario;
    const subject = newKey(2, 1_000);
    await hammer(limiter, subject);
    clock.advance(60_001);
    const { bannedUntilMs, level } = await hammer(limiter, subject);
    expect(level).toBe(2);
    clock.advance(10_000); // past what is relied on without asking
    await scenario.command('FLUSHALL');
    await limiter.check(subject, 1); // may pass
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'api_key_banned', level: 2, isNew: false });
    await eventually(async () => {
      const { ban } = await limiter.peek(subject);
      expect(ban?.level).toBe(2);
      expect(Math.abs((ban?.untilMs ?? 0) - bannedUntilMs)).toBeLessThan(10);
    });
    expect(await ask(server.port, (client) => client.zrange('rl:bans', 0, '-1'))).toEqual([subject.storageKey]);
  });

  test('that was lifted stays lifted, and Redis forgetting its use does not bring it back', async () => {
    const clock = movableClock();
    await using scenario = await openScenario({ ...PATIENT, nowMs: clock.nowMs });
    const { limiter, server } = scenario;
    const subject = newKey(2, 1_000);
    await hammer(limiter, subject);
    await using administration = await connectToAdministrate(locationAt(server.port));
    expect(await administration.liftBan(apiKeyIdOf(subject.storageKey))).toMatchObject({ level: 1 });
    clock.advance(5_001); // past what is relied on without asking
    for (let i = 0; i < 3; i++) expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
    await scenario.command('FLUSHALL');
    expect((await limiter.check(subject, 1)).outcome).toBe('admitted'); // may pass
    for (let i = 0; i < 3; i++) expect((await limiter.check(subject, 1)).outcome).toBe('rate_limit_exceeded');
    expect((await limiter.peek(subject)).ban).toBeUndefined();
  });

  test('that was lifted, as a status alone shows, does not come back with the use', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(3, 1_000);
    await hammer(limiter, subject);
    await using administration = await connectToAdministrate(locationAt(server.port));
    await administration.liftBan(apiKeyIdOf(subject.storageKey));
    expect((await limiter.peek(subject)).ban).toBeUndefined();
    expect(limiter.recall(subject)).toMatchObject({ outcome: 'recalled', minute: { remaining: 0 } });
    await scenario.command('FLUSHALL');
    await limiter.peek(subject); // shows that the use is missing
    await eventually(async () => expect((await limiter.peek(subject)).used).toEqual({ minute: 3, day: 3 }));
    expect((await limiter.peek(subject)).ban).toBeUndefined();
  });

  test('that is decided on while Redis is away holds when it is back', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server } = scenario;
    const subject = newKey(2, 1_000);
    await limiter.check(subject, 1);
    await scenario.kill();
    const { bannedUntilMs } = await hammer(limiter, subject);
    await server.restart();
    await untilInUse(limiter);
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'api_key_banned', level: 1, isNew: false });
    const { ban } = await limiter.peek(subject);
    expect(Math.abs((ban?.untilMs ?? 0) - bannedUntilMs)).toBeLessThan(200); // by Redis' clock, as far as it is known
  });
});
