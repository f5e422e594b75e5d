import { readFileSync } from 'node:fs';
import { API_KEY_CHANGED_CHANNEL, ORDER_EVENTS_CHANNEL } from '@petstore/domain';
import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import {
  BanWatch,
  connectRedis,
  connectToAdministrate,
  type KeyBan,
  type RedisLocation,
  type ServingLimiter,
  watchEviction,
} from '../src/index.ts';
import { apiKeyIdOf } from '../src/subject.ts';
import { ask, eventually, movableClock, openLimiter, PATIENT } from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { startRedisCluster } from './support/redis-cluster.ts';
import { newAddress, newKey } from './support/traffic.ts';

const PASSWORD = 'of-the-user';

/** What the document says that operators should send. */
const [FOR_ALL = [], FOR_CLUSTER = []] = [
  ...readFileSync(new URL('../../../docs/rate-limiting.md', import.meta.url), 'utf8').matchAll(/^ACL SETUSER (.+)$/gm),
].map(([, rules = '']) => rules.replace('PASSWORD', PASSWORD).split(' '));
const [USER = ''] = FOR_ALL;

const permit = (port: number, rules: readonly string[]) =>
  ask(port, (client) => client.call('ACL', 'SETUSER', ...rules));

/** Everything that a server and the command line do with Redis. */
async function useAll(location: RedisLocation, duringUse: (limiter: ServingLimiter) => Promise<void>): Promise<void> {
  const redis = connectRedis(location);
  watchEviction(redis, () => {});
  using opened = await openLimiter({ ...PATIENT, redis });
  const { limiter, changes } = opened;
  const lifted: KeyBan[] = [];
  using _watch = new BanWatch({ redis, onLift: (ban) => lifted.push(ban) });
  const [banned, used] = [newKey(3, 100), newKey(60, 1_000)];
  await hammer(limiter, banned);
  await limiter.check(newAddress(), 60);
  await limiter.debit(used, { minute: 1, day: 1 });
  for (let i = 0; i < 3; i++) await limiter.check(used, 1);
  await useForLong(location);
  await duringUse(limiter);

  const subscriber = connectRedis(location);
  await eventually(() => expect(subscriber.status).toBe('ready'));
  for (const channel of [API_KEY_CHANGED_CHANNEL, ORDER_EVENTS_CHANNEL]) {
    await subscriber.subscribe(channel);
    await redis.publish(channel, 'id');
  }
  subscriber.disconnect();

  await using administration = await connectToAdministrate(location);
  expect(await administration.readStatus(used)).toMatchObject({ used: { minute: 4 } });
  await eventually(async () => expect(await administration.listBans()).toHaveLength(1));
  expect(await administration.liftBan(apiKeyIdOf(banned.storageKey))).toMatchObject({ level: 1 });
  await eventually(() => expect(lifted).toHaveLength(1));
  expect(changes).toEqual([]);
}

/** A key whose state has become long is read and written in parts. */
async function useForLong(location: RedisLocation): Promise<void> {
  const clock = movableClock();
  using opened = await openLimiter({ ...PATIENT, redis: connectRedis(location), nowMs: clock.nowMs });
  const subject = newKey(1_000, 1_000);
  for (let i = 0; i < 20; i++, clock.advance(1_100)) {
    for (let j = 0; j < 2; j++) await opened.limiter.check(subject, 1);
  }
}

/** What the servers refused, and which of the permitted commands were never sent. */
async function findMismatch(ports: readonly number[], rules: readonly string[]) {
  const of = await Promise.all(
    ports.map((port) =>
      ask(port, async (client) => ({
        refused: JSON.stringify(await client.call('ACL', 'LOG')),
        stats: await client.info('commandstats'),
      })),
    ),
  );
  const stats = of.map((server) => server.stats).join();
  const permitted = rules.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : []));
  return {
    refused: of.flatMap(({ refused }) => (refused === '[]' ? [] : [refused])),
    unused: permitted.filter((command) => !stats.includes(`cmdstat_${command}:`)),
  };
}

describe.concurrent('a user of Redis with the permissions that the document lists can do all, and needs them all', () => {
  test('in a single Redis', async () => {
    await using server = await startRedisServer();
    await permit(server.port, FOR_ALL);
    const access = { username: USER, password: PASSWORD, tls: false };
    await useAll({ type: 'single', host: '127.0.0.1', port: server.port, database: 1, ...access }, async () => {});
    expect(await findMismatch([server.port], FOR_ALL)).toEqual({ refused: [], unused: [] });
  });

  test('in a Redis Cluster', async () => {
    await using cluster = await startRedisCluster();
    const rules = [...FOR_ALL, ...FOR_CLUSTER.slice(1)];
    const ports = cluster.nodes.map(({ port }) => port);
    for (const port of ports) await permit(port, rules);
    await useAll(
      { type: 'cluster', nodes: cluster.nodes, username: USER, password: PASSWORD, tls: false },
      async (limiter) => {
        const subject = newKey(10, 100);
        const move = await cluster.beginMove(subject.storageKey);
        expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
        await move.end();
      },
    );
    // No replica has become a master.
    expect(await findMismatch(ports, rules)).toEqual({ refused: [], unused: ['readwrite'] });
  });
});
