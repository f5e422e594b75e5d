import { startRedisServer } from '@petstore/testing';
import { expect, test } from 'vitest';
import { connectRedis, type DecisionPlace } from '../../src/index.ts';
import { stateKeyOf } from '../../src/redis-limiter.ts';
import { ask, eventually, openLimiter, PATIENT, runUnderLoad, sleep, WAIT_MAX_MS } from '../support/fault-scenario.ts';
import { newKey } from '../support/traffic.ts';

const MASTER_NAME = 'petstore';
const HOST = '127.0.0.1';

test('behind Sentinels, a master that is killed under load fails no request, and its successor is used', async () => {
  await using master = await startRedisServer({ config: { 'repl-diskless-sync-delay': 0 } });
  await using replica = await startRedisServer({ config: { replicaof: `${HOST} ${master.port}` } });
  await using sentinel = await startRedisServer({ sentinel: true });
  await ask(replica.port, (client) =>
    eventually(async () => expect(await client.info('replication')).toContain('master_link_status:up'), 30_000),
  );
  await ask(sentinel.port, async (client) => {
    await client.call('SENTINEL', 'MONITOR', MASTER_NAME, HOST, master.port, 1);
    await client.call('SENTINEL', 'SET', MASTER_NAME, 'down-after-milliseconds', 1_000, 'failover-timeout', 2_000);
    await eventually(
      async () => expect(await client.call('SENTINEL', 'REPLICAS', MASTER_NAME)).toHaveLength(1),
      30_000,
    );
  });

  const sentinels = [{ host: HOST, port: sentinel.port }];
  const redis = connectRedis(
    { type: 'sentinel', sentinels, masterName: MASTER_NAME, database: 0, tls: false },
    PATIENT,
  );
  const places: DecisionPlace[] = [];
  const observer = { onDecision: (place: DecisionPlace) => places.push(place), onBan() {}, onRedisCall() {} };
  using opened = await openLimiter({ redis, observer });
  places.length = 0;
  const { limiter, changes } = opened;
  const subject = newKey(1_000_000, 1_000_000);
  const { longestWaitMs, admitted, decisions } = await runUnderLoad(limiter, [subject], async () => {
    await sleep(300);
    await master.kill();
    await eventually(() => expect(changes.map(({ countedIn }) => countedIn)).toEqual(['process', 'redis']), 40_000);
    await sleep(300);
  });
  expect(longestWaitMs).toBeLessThan(WAIT_MAX_MS);
  expect(admitted).toBe(decisions.length);
  expect(changes.map(({ countedIn }) => countedIn)).toEqual(['process', 'redis']);
  const used = async () => (await limiter.peek(subject)).day?.used ?? 0;
  // What was counted here while the master was gone was debited at its successor. What that lacks, because it followed
  // behind, is forgiven.
  const here = places.filter((place) => place === 'process').length;
  expect(here).toBeGreaterThan(0);
  await eventually(async () => expect(await used()).toBeGreaterThanOrEqual(here));
  // The ten that were under way when the master died may have been counted before it did.
  expect(await used()).toBeLessThanOrEqual(decisions.length + 10);
  expect(await ask(replica.port, (client) => client.exists(stateKeyOf(subject.name)))).toBe(1);
}, 120_000);
