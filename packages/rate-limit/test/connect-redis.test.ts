import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { startRedisServer } from '@petstore/testing';
import { Cluster } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { connectRedis, type RedisLocation } from '../src/index.ts';
import { eventually, openLimiter } from './support/fault-scenario.ts';
import { newKey } from './support/traffic.ts';

const NOTHING_LISTENS = { host: '127.0.0.1', port: 1 };

describe('a connection that is lost', () => {
  test.each([
    { type: 'single', ...NOTHING_LISTENS, database: 0, tls: false },
    { type: 'sentinel', sentinels: [NOTHING_LISTENS], masterName: 'orders', database: 0, tls: false },
    { type: 'cluster', nodes: [NOTHING_LISTENS], tls: false },
  ] satisfies RedisLocation[])('is made anew within 2 s, however long Redis was away: $type', (location) => {
    const redis = connectRedis(location);
    const { options } = redis;
    const waitsOf = redis instanceof Cluster ? [redis.options.clusterRetryStrategy] : [redis.options.retryStrategy];
    if ('sentinelRetryStrategy' in options && location.type === 'sentinel') waitsOf.push(options.sentinelRetryStrategy);
    expect(waitsOf).toHaveLength(location.type === 'sentinel' ? 2 : 1);
    for (const waitOf of waitsOf) {
      for (const attempt of [1, 2, 3, 6, 7, 100, 1_000_000]) {
        const waitMs = waitOf?.(attempt);
        expect(waitMs).toBeGreaterThanOrEqual(50);
        expect(waitMs).toBeLessThanOrEqual(1_000);
      }
    }
    const { connectTimeout } = redis instanceof Cluster ? (redis.options.redisOptions ?? {}) : redis.options;
    expect(connectTimeout).toBeLessThanOrEqual(1_000); // where nothing so much as refuses
    redis.disconnect();
  });
});

test('a connection that leads nowhere is made anew: three probes in a row without a response', async () => {
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
