import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { BanWatch, connectRedis, type KeyBan, RateLimitAdministration } from '../src/index.ts';
import {
  ask,
  eventually,
  movableClock,
  openLimiter,
  PATIENT,
  runUnderLoad,
  sleep,
  untilInUse,
  WAIT_MAX_MS,
} from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { startRedisCluster } from './support/redis-cluster.ts';
import { newKey } from './support/traffic.ts';

const cluster = await startRedisCluster();
afterAll(() => cluster[Symbol.asyncDispose]());

const connect = (keyPrefix = '') =>
  connectRedis({ type: 'cluster', nodes: cluster.nodes.slice(0, 2), tls: false }, { keyPrefix });

/** How many script calls the masters have run. */
async function countCalls(): Promise<number> {
  const stats = await Promise.all(cluster.nodes.map(({ port }) => ask(port, (client) => client.info('all'))));
  return stats
    .filter((info) => info.includes('role:master'))
    .reduce((total, info) => total + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0);
}

describe('in a Redis Cluster', () => {
  test('keys of every master are counted to the last unit', async () => {
    const redis = connect();
    using opened = await openLimiter({ ...PATIENT, redis });
    const { limiter, changes } = opened;
    const subjects = Array.from({ length: 60 }, () => newKey(10, 100));
    const requests = subjects.flatMap((subject) => Array.from({ length: 15 }, () => subject));
    const decisions = await Promise.all(requests.map((subject) => limiter.check(subject, 1)));
    expect(decisions.filter(({ outcome }) => outcome === 'admitted').length).toBe(600);
    if (!(redis instanceof Cluster)) expect.fail();
    const masters = subjects.map(({ storageKey }) => redis.slots[calculateSlot(storageKey)]?.[0]);
    expect(new Set(masters).size).toBe(3);
    expect(changes).toEqual([]);
    expect(limiter.isDegraded).toBe(false);
  });

  test.each(['', 'shop:'])(
    'requests of one tick are one write to each master, of one key one script call: prefix "%s"',
    async (prefix) => {
      const redis = connect(prefix);
      using opened = await openLimiter({ ...PATIENT, redis });
      const { limiter } = opened;
      const [hot, ...subjects] = Array.from({ length: 91 }, () => newKey(1_000_000, 1_000_000));
      const burst = [...subjects, ...Array.from({ length: 50 }, () => hot ?? expect.fail())];
      const sendBurst = () => Promise.all(burst.map((subject) => limiter.check(subject, 1)));
      // Masters that are still being connected to count here; once none is, what was counted here is debited.
      await eventually(async () => {
        await sendBurst();
        expect(limiter.isDegraded).toBe(false);
      });
      await sendBurst();
      if (!(redis instanceof Cluster)) expect.fail();
      const writes = redis
        .nodes('master')
        .map(({ stream }) => [vi.spyOn(stream, '_write').mock, vi.spyOn(stream, '_writev').mock]);
      const callsBefore = await countCalls();
      const decisions = await sendBurst();
      expect((await countCalls()) - callsBefore).toBe(91);
      expect(writes.map(([one, several]) => (one?.calls.length ?? 0) + (several?.calls.length ?? 0))).toEqual([
        1, 1, 1,
      ]);
      const remaining = decisions.slice(-50).map(({ minute }) => minute.remaining);
      expect(remaining).toEqual([...new Set(remaining)].sort((one, other) => other - one));
    },
  );

  test('a request for a slot that moves goes to where it moves to, once, and those beside it stay where they are', async () => {
    const redis = connect();
    using opened = await openLimiter({ ...PATIENT, redis });
    const { limiter, changes } = opened;
    const subjects = Array.from({ length: 60 }, () => newKey(10, 100));
    const [moving = expect.fail()] = subjects;
    const move = await cluster.beginMove(moving.storageKey); // from here on its master redirects by ASK
    const checkAll = () => Promise.all(subjects.map((subject) => limiter.check(subject, 1)));
    const minutes = async () => new Set((await checkAll()).map(({ minute }) => minute.remaining));
    expect(await minutes()).toEqual(new Set([9]));
    expect(await minutes()).toEqual(new Set([8]));
    expect(await ask(move.to.port, (client) => client.cluster('COUNTKEYSINSLOT', move.slot))).toBe(1);
    await move.end(); // by MOVED
    expect(await minutes()).toEqual(new Set([7]));
    expect(changes).toEqual([]);
  });

  test('statuses can be read, and bans listed, watched and lifted', async () => {
    const redis = connect();
    const clock = movableClock();
    using opened = await openLimiter({ ...PATIENT, redis, nowMs: clock.nowMs });
    const { limiter } = opened;
    const administration = new RateLimitAdministration(redis);
    const lifts: KeyBan[] = [];
    using watch = new BanWatch({ redis, onLift: (lift) => lifts.push(lift), intervalMs: 20 });
    const subject = newKey(2, 100);
    await hammer(limiter, subject);
    await eventually(async () => expect(await administration.listBans()).toHaveLength(1));
    const [ban] = await administration.listBans();
    await eventually(() => expect(watch.bannedKeys).toBe(1));
    expect(ban && (await administration.liftBan(ban.keyId))).toMatchObject({ level: 1 });
    await eventually(() => expect(lifts).toEqual([ban]));
    await eventually(() => expect(watch.bannedKeys).toBe(0));
    expect(await administration.readStatus(subject)).toMatchObject({ used: { minute: 2 }, ban: undefined });
  });

  test('a master that is killed under load fails no request, and its keys are in Redis again once it is replaced', async () => {
    // Longer than a master that is only held up, so that no other is given up; a command that waits for a connection to
    // be made takes up to a second.
    const redis = connect();
    using opened = await openLimiter({ redis, timeoutMs: 300 });
    const { limiter, changes } = opened;
    const subjects = Array.from({ length: 60 }, () => newKey(1_000_000, 1_000_000));
    const [first = expect.fail()] = subjects;
    const master = await cluster.findMaster(first.storageKey);
    const isOfIt = ({ storageKey }: { storageKey: string }) =>
      redis instanceof Cluster && redis.slots[calculateSlot(storageKey)]?.[0] === `127.0.0.1:${master.port}`;
    const hurt = subjects.filter(isOfIt);
    const well = subjects.filter((subject) => !hurt.includes(subject));
    const { longestWaitMs, admitted, decisions } = await runUnderLoad(limiter, subjects, async () => {
      await sleep(300);
      await master.kill();
      await eventually(() => expect(changes.map(({ countedIn }) => countedIn)).toEqual(['process', 'redis']), 40_000);
      await untilInUse(limiter);
      await sleep(300);
    });
    expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    expect(admitted).toBe(decisions.length);
    const [away, back] = changes;
    expect(away).toMatchObject({ countedIn: 'process', shard: `127.0.0.1:${master.port}` });
    expect(back).toMatchObject({ countedIn: 'redis', shard: `127.0.0.1:${master.port}` });
    expect(changes.length).toBe(2);

    // The keys of the other masters never left Redis. What was counted here for the one that is gone was debited at its
    // successor. What that lacks, because it followed behind, is counted again.
    const usedBy = async (some: readonly (typeof first)[]) => {
      const snapshots = await Promise.all(some.map((subject) => limiter.peek(subject)));
      return snapshots.reduce((sum, { used }) => sum + (used.day ?? 0), 0);
    };
    const sentFor = (some: readonly unknown[]) => (decisions.length * some.length) / subjects.length;
    await eventually(async () => expect(await usedBy(hurt)).toBeGreaterThan(sentFor(hurt) * 0.98));
    await eventually(async () => expect(await usedBy(well)).toBeGreaterThan(sentFor(well) * 0.98));
    // The ten that were under way at that moment may have been counted before it.
    expect((await usedBy(hurt)) + (await usedBy(well))).toBeLessThanOrEqual(decisions.length + 10);
  }, 120_000);
});
