import { readFileSync } from 'node:fs';
import { startRedisServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import {
  connectRedis,
  connectToAdministrate,
  countBans,
  type RedisLocation,
  type ResilientLimiter,
  watchEviction,
} from '../src/index.ts';
import { stateKeyOf } from '../src/redis-limiter.ts';
import { ask, eventually, openLimiter, PATIENT } from './support/fault-scenario.ts';
import { startRedisCluster } from './support/redis-cluster.ts';
import { hammer, newAddress, newKey } from './support/traffic.ts';

const PASSWORD = 'of-the-user';

/** What the document says that operators should send. */
const [FOR_ALL = [], FOR_CLUSTER = []] = [
  ...readFileSync(new URL('../../../docs/rate-limiting.md', import.meta.url), 'utf8').matchAll(/^ACL SETUSER (.+)$/gm),
].map(([, rules = '']) => rules.replace('PASSWORD', PASSWORD).split(' '));
const [USER = ''] = FOR_ALL;
const CHANNELS = FOR_ALL.filter((rule) => rule.startsWith('&')).map((rule) => rule.slice(1));

const permit = (port: number, rules: readonly string[]) =>
  ask(port, (client) => client.call('ACL', 'SETUSER', ...rules));

/** Everything that a server and the command line do with Redis. */
async function useAll(location: RedisLocation, duringUse: (limiter: ResilientLimiter) => Promise<void>): Promise<void> {
  const redis = connectRedis(location, PATIENT);
  watchEviction(redis, () => {});
  using opened = await openLimiter({ redis });
  const { limiter, changes } = opened;
  const [banned, used] = [newKey(3, 100), newKey(60, 1_000)];
  await hammer(limiter, banned);
  await limiter.check(newAddress(), 60);
  for (let i = 0; i < 4; i++) await limiter.check(used, 1);
  await duringUse(limiter);

  const subscriber = connectRedis(location, PATIENT);
  await eventually(() => expect(subscriber.status).toBe('ready'));
  for (const channel of CHANNELS) {
    await subscriber.subscribe(channel);
    await redis.publish(channel, 'id');
  }
  subscriber.disconnect();

  await using administration = await connectToAdministrate(location);
  expect(await administration.readStatus(used)).toMatchObject({ minute: { used: 4 } });
  await eventually(async () => expect(await administration.listBans()).toHaveLength(1));
  expect(await countBans(redis)).toBe(1);
  expect(await administration.liftBan(banned.name)).toMatchObject({ level: 1 });
  expect(changes).toEqual([]);
}

/** By which ioredis names itself to Redis 7.2 and newer. Redis 7.0 does not know it, and nothing depends on it. */
const COURTESY = 'client|setinfo';

/** What the servers refused, and which of the permitted commands were never sent. */
async function findMismatch(ports: readonly number[], rules: readonly string[]) {
  const of = await Promise.all(
    ports.map((port) =>
      ask(port, async (client) => ({
        refused: (await client.call('ACL', 'LOG')) as readonly (readonly unknown[])[], // as Redis documents it
        stats: await client.info('commandstats'),
      })),
    ),
  );
  const stats = of.map((server) => server.stats).join();
  const permitted = rules.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : []));
  return {
    refused: of.flatMap(({ refused }) => refused.filter((entry) => !entry.includes(COURTESY))),
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
        const move = await cluster.beginMove(stateKeyOf(subject.name));
        expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
        await move.end();
      },
    );
    // No replica has become a master.
    expect(await findMismatch(ports, rules)).toEqual({ refused: [], unused: ['readwrite'] });
  });
});
