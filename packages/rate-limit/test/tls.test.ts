import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createTemporaryFolder, findFreePort, SELF_SIGNED, startRedisServer } from '@petstore/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { connectRedis, connectToAdministrate, type RedisLocation, ResilientLimiter } from '../src/index.ts';
import { ask, eventually, openLimiter, PATIENT } from './support/fault-scenario.ts';
import { startRedisCluster } from './support/redis-cluster.ts';
import { newKey } from './support/traffic.ts';

/** For which the certificate of each server is valid; for its address it is not. */
const NAME = 'localhost';
const ADDRESS = '127.0.0.1';
const MASTER_NAME = 'petstore';

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const folder = resources.use(createTemporaryFolder());
const [certFile, keyFile] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
writeFileSync(certFile, SELF_SIGNED.cert);
writeFileSync(keyFile, SELF_SIGNED.key);
const TLS = {
  'tls-cert-file': certFile,
  'tls-key-file': keyFile,
  'tls-ca-cert-file': certFile,
  'tls-auth-clients': 'no',
};

/** Makes the authority of the certificates one of those that Node trusts, as NODE_EXTRA_CA_CERTS does. */
function trustAuthority(): Disposable {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, SELF_SIGNED.cert]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
}

/** Counts requests of many keys there, and lists them as an operator does. */
async function countThere(location: RedisLocation): Promise<void> {
  using opened = await openLimiter({ redis: connectRedis(location, PATIENT) });
  const { limiter, changes } = opened;
  const keys = Array.from({ length: 30 }, () => newKey(10, 100));
  await eventually(async () => {
    for (const key of keys) await limiter.check(key, 1);
    await using administration = await connectToAdministrate(location);
    for (const key of keys) expect((await administration.readStatus(key)).minute.used).toBeGreaterThan(0);
  });
  expect(changes).toEqual([]);
}

/** Why nothing is counted there. */
async function reasonAgainst(location: RedisLocation): Promise<string | undefined> {
  const redis = connectRedis(location);
  const limiter = new ResilientLimiter({ redis });
  await limiter.started;
  const { awayReason } = limiter;
  limiter.close();
  redis.disconnect();
  return awayReason;
}

describe('a single Redis over TLS', async () => {
  const port = await findFreePort();
  resources.use(await startRedisServer({ config: { ...TLS, 'tls-port': port } }));
  const at = (host: string, tls: RedisLocation['tls']) => ({ type: 'single', host, port, database: 0, tls }) as const;

  test('is used by the name that its certificate has, and not by another', async () => {
    using _trust = trustAuthority();
    await countThere(at(NAME, true));
    expect(await reasonAgainst(at(ADDRESS, true))).toMatch(/does not match certificate/);
  });

  test('is used whatever its certificate says only if that is chosen', async () => {
    expect(await reasonAgainst(at(NAME, true))).toMatch(/^self-signed certificate/);
    await countThere(at(ADDRESS, 'unverified'));
  });
});

describe('a Redis Cluster over TLS', async () => {
  const cluster = resources.use(await startRedisCluster({ ...TLS, 'cluster-announce-hostname': NAME }));
  const at = (host: string, tls: RedisLocation['tls']) => {
    const nodes = cluster.nodePorts.slice(0, 2).map((port) => ({ host, port }));
    return { type: 'cluster', nodes, tls } as const;
  };
  const announce = async (endpoint: 'hostname' | 'ip') => {
    for (const { port } of cluster.nodes) {
      await ask(port, (client) => client.config('SET', 'cluster-preferred-endpoint-type', endpoint));
    }
  };

  test.each(['hostname', 'ip'] as const)('is used by name, if its nodes announce their %s', async (endpoint) => {
    using _trust = trustAuthority();
    await announce(endpoint);
    await countThere(at(NAME, true));
  });

  test('is not used if its certificates are for no host that is named', async () => {
    using _trust = trustAuthority();
    await announce('ip');
    expect(await reasonAgainst(at(ADDRESS, true))).toMatch(/does not match certificate/);
  });

  test('is used whatever its certificates say only if that is chosen', async () => {
    await announce('ip');
    expect(await reasonAgainst(at(NAME, true))).toMatch(/^self-signed certificate/);
    await countThere(at(ADDRESS, 'unverified'));
  });
});

describe('Sentinels and their master over TLS', async () => {
  const [masterPort, sentinelPort] = [await findFreePort(), await findFreePort()];
  resources.use(await startRedisServer({ config: { ...TLS, 'tls-port': masterPort } }));
  const config = { ...TLS, 'tls-port': sentinelPort, 'tls-replication': 'yes', 'sentinel resolve-hostnames': 'yes' };
  const sentinel = resources.use(await startRedisServer({ sentinel: true, config }));
  await ask(sentinel.port, (client) => client.call('SENTINEL', 'MONITOR', MASTER_NAME, NAME, masterPort, 1));
  const at = (host: string, tls: RedisLocation['tls']) => {
    const sentinels = [{ host, port: sentinelPort }];
    return { type: 'sentinel', sentinels, masterName: MASTER_NAME, database: 0, tls } as const;
  };
  const announceNames = (choice: 'yes' | 'no') =>
    ask(sentinel.port, (client) => client.call('SENTINEL', 'CONFIG', 'SET', 'announce-hostnames', choice));

  test.each([
    ['name', 'yes'],
    ['address', 'no'],
  ] as const)('are used by name, if they announce the master by its %s', async (_, choice) => {
    using _trust = trustAuthority();
    await announceNames(choice);
    await countThere(at(NAME, true));
  });

  test('are used whatever their certificates say only if that is chosen', async () => {
    expect(await reasonAgainst(at(NAME, true))).toMatch(/^All sentinels are unreachable/);
    await countThere(at(ADDRESS, 'unverified'));
  });
});
