import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createTemporaryFolder, findFreePort, PATIENTLY, SELF_SIGNED, startRedisServer } from '@petstore/testing';
import type { Redis } from 'ioredis';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { connectRedis, connectToAdministrate, type RedisLocation, ResilientLimiter } from '../src/index.ts';
import { ask, eventually, openLimiter, PATIENT, sleep } from './support/fault-scenario.ts';
import { startRedisCluster } from './support/redis-cluster.ts';
import { newKey } from './support/traffic.ts';

/** A certificate of another authority than `SELF_SIGNED`, for the same name. Made by `openssl req -x509 -newkey ec`. */
const OF_ANOTHER_AUTHORITY = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeO1k4ZWybkiijNrc
kq2MjVa33mHkKX08flS/6MDo1jqhRANCAATR3WuMhI34Z/Lalv75tww/BX98HgIb
l2YMRrVdw/wruTEg5zDMtBhUoKUlCJflppJKNwCOWnTQOlKyZBg6bRQ9
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUO+bQUe0uapqj01Bq8aSuyr5X5CEwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyODEyMTgxNloYDzIxMjYxMTA0
MTIxODE2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATR3WuMhI34Z/Lalv75tww/BX98HgIbl2YMRrVdw/wruTEg5zDMtBhU
oKUlCJflppJKNwCOWnTQOlKyZBg6bRQ9o1MwUTAdBgNVHQ4EFgQUC52HWTErG99k
kcv06JNVTaWm4iMwHwYDVR0jBBgwFoAUC52HWTErG99kkcv06JNVTaWm4iMwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAjD3isSsBC93wPv13e6T8
vGVArIAoHMoINGAY6bsN3M4CIQD5dz5hxYKivA7qYtKivGqU3iKARAkDQAhIjtj5
AFAMDA==
-----END CERTIFICATE-----`,
};

/** For which the certificate of each server is valid; for its address it is not. */
const NAME = 'localhost';
const ADDRESS = '127.0.0.1';
const MASTER_NAME = 'petstore';

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const folder = resources.use(createTemporaryFolder());

/** The directives of a server with this certificate. */
function tlsConfig(name: string, { cert, key }: typeof SELF_SIGNED) {
  const [certFile, keyFile] = [join(folder.path, `${name}.cert`), join(folder.path, `${name}.key`)];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return {
    'tls-cert-file': certFile,
    'tls-key-file': keyFile,
    'tls-ca-cert-file': certFile,
    'tls-auth-clients': 'no',
  };
}

const TLS = tlsConfig('trusted', SELF_SIGNED);
const UNTRUSTED_TLS = tlsConfig('untrusted', OF_ANOTHER_AUTHORITY);

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
  const redis = connectRedis(location, PATIENT);
  const limiter = new ResilientLimiter({ redis });
  await limiter.started;
  const { unavailableReason } = limiter;
  limiter.close();
  redis.disconnect();
  return unavailableReason;
}

/**
 * Closes connections during their handshakes, after which the certificate is refused. Redis replies to some of them with
 * an alert: a second error of the socket, which must not end the process.
 */
async function closeInHandshakes(location: RedisLocation): Promise<void> {
  const uncaught: Error[] = [];
  const note = (error: Error) => uncaught.push(error);
  process.on('uncaughtException', note);
  for (let i = 0; i < 50; i++) {
    const redis = connectRedis(location) as Redis; // it is no cluster
    await vi.waitUntil(() => redis.stream?.connecting === false || redis.stream?.destroyed, { interval: 1 });
    redis.disconnect();
  }
  await sleep(200); // until the last alert has come
  process.off('uncaughtException', note);
  expect(uncaught).toEqual([]);
}

/** A server that closes each connection, having noted the name by which it was called. */
async function startNamedServer() {
  const names: unknown[] = [];
  const server = createServer(SELF_SIGNED, (socket) => {
    names.push(socket.servername);
    socket.on('error', () => {}).destroy();
  }).on('tlsClientError', () => {});
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { names, port, [Symbol.dispose]: () => void server.close() };
}

/** By which name a server is called there. Each call has a server of its own: a connection of another could come late. */
async function nameGiven(locationAt: (port: number) => RedisLocation): Promise<unknown> {
  using server = await startNamedServer();
  const redis = connectRedis(locationAt(server.port));
  await vi.waitUntil(() => server.names.length > 0, PATIENTLY);
  redis.disconnect();
  return server.names[0];
}

test('a server is called by the name that is set, so that it can have a certificate for each; never by an address', async () => {
  for (const [host, name] of [
    [NAME, NAME],
    [ADDRESS, false],
  ] as const) {
    const tls = 'unverified';
    expect(await nameGiven((port) => ({ type: 'single', host, port, database: 0, tls }))).toBe(name);
    expect(await nameGiven((port) => ({ type: 'cluster', nodes: [{ host, port }], tls }))).toBe(name);
  }
});

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

  test('that replies to a handshake which is given up ends no process', () => closeInHandshakes(at(NAME, true)));
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
  const at = (host: string, tls: RedisLocation['tls'], masterName = MASTER_NAME) => {
    const sentinels = [{ host, port: sentinelPort }];
    return { type: 'sentinel', sentinels, masterName, database: 0, tls } as const;
  };
  const monitor = (masterName: string, port: number) =>
    ask(sentinel.port, (client) => client.call('SENTINEL', 'MONITOR', masterName, NAME, port, 1));
  const announceNames = (choice: 'yes' | 'no') =>
    ask(sentinel.port, (client) => client.call('SENTINEL', 'CONFIG', 'SET', 'announce-hostnames', choice));
  await monitor(MASTER_NAME, masterPort);

  test.each([
    ['name', 'yes'],
    ['address', 'no'],
  ] as const)('are used by name, if they announce the master by its %s', async (_, choice) => {
    using _trust = trustAuthority();
    await announceNames(choice);
    await countThere(at(NAME, true));
  });

  test('are used whatever their certificates say only if that is chosen', async () => {
    expect(await reasonAgainst(at(NAME, true))).toMatch(/unreachable, or their certificates are refused \(tls_verify/);
    expect(await reasonAgainst(at(NAME, 'unverified'))).toBeUndefined();
    await countThere(at(ADDRESS, 'unverified'));
  });

  test('whose master replies to a handshake which is given up end no process', async () => {
    const port = await findFreePort();
    await using _untrusted = await startRedisServer({ config: { ...UNTRUSTED_TLS, 'tls-port': port } });
    using _trust = trustAuthority();
    await announceNames('yes');
    await monitor('untrusted', port);
    await closeInHandshakes(at(NAME, true, 'untrusted'));
  });
});
