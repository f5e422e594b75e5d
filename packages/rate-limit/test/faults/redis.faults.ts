import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { connectRedis, type LimiterStateChange, type RateLimitDecision, ResilientLimiter } from '../../src/index.ts';
import {
  eventually,
  openLimiter,
  openScenario,
  PATIENT,
  runUnderLoad,
  sleep,
  untilAway,
  untilInUse,
  WAIT_MAX_MS,
  watchLag,
} from '../support/fault-scenario.ts';
import { newKey } from '../support/traffic.ts';

/** Requests that one caller has under way, one after the other, until Redis counts as away. */
const UNTIL_AWAY_MAX = 5;

const countedIn = (changes: readonly LimiterStateChange[]) => changes.map((change) => change.countedIn);

describe('when Redis', () => {
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
      await eventually(() => expect(decisions.filter(isAdmitted).length).toBeGreaterThanOrEqual(20 * 20));
    });
    expect(frozen.longestWaitMs).toBeLessThan(WAIT_MAX_MS);
    expect(frozen.admitted).toBe(20 * 20);
    server.resume();
    await untilInUse(limiter);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
    // Redis knows what it counted before. What was under way when it froze has run after all.
    const snapshots = await Promise.all(subjects.map((subject) => limiter.peek(subject)));
    const usedMeanwhile = snapshots.reduce((sum, { minute }) => sum + minute.used - 1, 0);
    expect(usedMeanwhile).toBeGreaterThanOrEqual(0);
    expect(usedMeanwhile).toBeLessThanOrEqual(10 * UNTIL_AWAY_MAX);
  });

  test.each([
    { state: 'becomes a read-only replica', says: 'name the primary', config: {} },
    {
      state: 'is a replica without its master that may not answer',
      says: 'MASTERDOWN',
      config: { 'replica-serve-stale-data': 'no' },
    },
  ])('$state, requests are counted here until it is well again', async ({ says, config }) => {
    await using scenario = await openScenario({ ...PATIENT, config });
    const { limiter, changes } = scenario;
    const subject = newKey(300, 100_000);
    await limiter.check(subject, 100);
    await scenario.command('REPLICAOF', '127.0.0.1', '1');
    await limiter.check(subject, 300);
    await untilAway(limiter);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.stringContaining(says) }]);
    expect((await limiter.check(subject, 1)).outcome).toBe('refused');
    await scenario.command('REPLICAOF', 'NO', 'ONE');
    await untilInUse(limiter);
    expect(await limiter.peek(subject)).toMatchObject({ minute: { used: 100 }, day: { used: 100 } });
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
    for (let i = 0; i < 5; i++) expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
    expect((await limiter.check(subject, 1)).outcome).toBe('refused');
    expect(changes).toEqual([]);
    await limiter.started;
    expect(countedIn(changes)).toEqual(['process']);
    await server.restart();
    await untilInUse(limiter);
    expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted', minute: { used: 1 } });
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

  test('is behind a connection that leads nowhere, another is made: three probes in a row without a response', async () => {
    await using server = await startRedisServer();
    await using relay = await startRelay(server.port);
    const redis = connectRedis({ type: 'single', host: '127.0.0.1', port: relay.port, database: 0, tls: false });
    using opened = await openLimiter({ redis });
    const { limiter } = opened;
    const subject = newKey(10, 100);
    await limiter.check(subject, 1);
    const connectionsBefore = relay.connectionCount;
    relay.swallow();
    await eventually(async () => {
      await limiter.check(subject, 1);
      expect(limiter.isDegraded).toBe(true);
    });
    // Those that were swallowed never respond again.
    await eventually(() => {
      expect(relay.connectionCount).toBeGreaterThan(connectionsBefore);
      expect(limiter.isDegraded).toBe(false);
    });
  });

  test('is away and comes back, a server without a request learns of both', async () => {
    await using scenario = await openScenario(PATIENT);
    const { limiter, server, changes } = scenario;
    await server.kill();
    await eventually(() => expect(limiter.isDegraded).toBe(true));
    await server.restart();
    await untilInUse(limiter);
    expect(countedIn(changes)).toEqual(['process', 'redis']);
  });
});

interface Relay extends AsyncDisposable {
  readonly port: number;
  /** How many connections there were. */
  readonly connectionCount: number;
  /** From now on nothing passes through the open connections, as where a machine has vanished. */
  swallow(): void;
}

/** Stands between the limiter and Redis. */
async function startRelay(targetPort: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  const server = createServer((client) => {
    connectionCount++;
    const upstream = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    port,
    get connectionCount() {
      return connectionCount;
    },
    swallow() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
