import { startRedisServer } from '@petstore/testing';
import type { Cluster, Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { clientAddressSubject, connectRedis, createResilientLimiter, type RateLimitSubject } from '../../src/index.ts';
import { RedisLimiter } from '../../src/redis/redis-limiter.ts';
import { PATIENT, untilInUse } from '../support/fault-scenario.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { newKey } from '../support/traffic.ts';

const CALLERS = 50;
const ROUNDS = 5;
const ROUND_MS = 2_000;
const SUBJECTS = 50_000;

const connectSingle = (port: number) =>
  connectRedis({ type: 'single', host: '127.0.0.1', port, database: 0, tls: false }) as Redis; // it is no cluster

/** The /64 network of an IPv6 address, as long as such names are. */
const address = (i: number) =>
  clientAddressSubject(`2001:db8:${(i >> 16).toString(16)}:${(i & 65_535).toString(16)}::1`);

test('bytes of keys and addresses', async () => {
  await using server = await startRedisServer({ config: { databases: 1 } });
  const redis = connectSingle(server.port);
  await expect.poll(() => redis.status).toBe('ready');
  let nowMs = 1_700_000_000_000;
  const limiter = new RedisLimiter({ ...PATIENT, redis, nowMs: () => nowMs });
  const rows: Record<string, object> = {};
  const note = async (name: string, { storageKey }: RateLimitSubject) => {
    const whole = Number(await redis.call('MEMORY', 'USAGE', storageKey));
    rows[name] = { value: await redis.strlen(storageKey), whole, 'TTL in s': await redis.ttl(storageKey) };
  };
  const fresh = newKey(60, 1_000);
  await limiter.check(fresh, 1);
  await note('key, fresh', fresh);
  await limiter.check(fresh, 60);
  await note('key, refused once', fresh);
  const full = newKey(1_000, 100_000);
  for (let i = 0; i < 290; i++, nowMs += 300_000) await limiter.check(full, 1);
  for (let i = 0; i < 61; i++, nowMs += 1_000) await limiter.check(full, 1);
  await note('key, full', full);
  const visitor = clientAddressSubject('2001:db8::1');
  await limiter.check(visitor, 1);
  await note('address, fresh', visitor);
  await limiter.check(visitor, 60);
  await note('address, refused once', visitor);
  console.table(rows);

  const usedBytes = async () => Number(/used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const tableBytes = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const [datasetBefore, before] = [await usedBytes(), await tableBytes()];
  for (let i = 0; i < SUBJECTS; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, j) => limiter.check(address(i + j), 1)));
  }
  const perAddress = ((await tableBytes()) - before) / SUBJECTS;
  console.log(
    `${SUBJECTS} addresses: ${perAddress.toFixed(0)} bytes each, ${((await usedBytes()) - datasetBefore) / SUBJECTS} of data`,
  );
  redis.disconnect();
});

test('requests per second, and processor time of the caller', async () => {
  await using server = await startRedisServer();
  await using cluster = await startRedisCluster();
  for (let round = 0; round < ROUNDS; round++) {
    await load('single', connectSingle(server.port));
    await load('cluster of 3', connectRedis({ type: 'cluster', nodes: cluster.nodes, tls: false }));
  }
});

async function load(name: string, redis: Redis | Cluster): Promise<void> {
  const limiter = createResilientLimiter({ ...PATIENT, redis });
  await untilInUse(limiter);
  const keys = Array.from({ length: 2_000 }, () => newKey(1_000_000_000, 1_000_000_000));
  await Promise.all(keys.map((key) => limiter.check(key, 1)));
  let count = 0;
  const endMs = performance.now() + ROUND_MS;
  const caller = async (turn: number) => {
    for (let i = turn * 37; performance.now() < endMs; i++, count++) {
      const key = keys[i % keys.length];
      if (key !== undefined) await limiter.check(key, 1);
    }
  };
  const cpu = process.cpuUsage();
  await Promise.all(Array.from({ length: CALLERS }, (_, turn) => caller(turn)));
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = Math.round(count / (ROUND_MS / 1_000));
  console.log(
    `${name}: ${perSecond} requests/s, ${((user + system) / count).toFixed(1)} µs of the caller's processor each`,
  );
  expect(limiter.isDegraded).toBe(false);
  limiter.close();
  redis.disconnect();
}
