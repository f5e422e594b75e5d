import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createServer } from 'node:tls';
import { createTestRedis, SELF_SIGNED, startRedisServer } from '@petstore/testing';
import { Cluster, Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import {
  connectRedis,
  connectToAdministrate,
  type LimiterStateChange,
  RateLimitAdministration,
  type RedisLocation,
  ResilientLimiter,
} from '../src/index.ts';
import { reasonOf } from '../src/unavailable-reason.ts';
import { ask, eventually, openLimiter, PATIENT, untilInUse } from './support/fault-scenario.ts';
import { hammer, newKey } from './support/traffic.ts';

const WRONG_PASSWORD = 'hunter2';
const HOST = '127.0.0.1';

const open = await startRedisServer({
  config: { databases: 4, user: 'reader on >may-read ~* +@connection +info +get' },
});
const closed = await startRedisServer({ config: { requirepass: 'right' } });
const untrusted = createServer(SELF_SIGNED).on('tlsClientError', () => {});
untrusted.listen(0, HOST);
await once(untrusted, 'listening');
const web = createTcpServer((socket) => void socket.on('error', () => {}).write('HTTP/1.1 400 Bad Request\r\n\r\n'));
web.listen(0, HOST);
await once(web, 'listening');
afterAll(async () => {
  untrusted.close();
  web.close();
  await Promise.all([open[Symbol.asyncDispose](), closed[Symbol.asyncDispose]()]);
});

const single = { type: 'single', host: HOST, port: open.port, database: 0, tls: false } as const;
const refused = { host: HOST, port: 1 };
const unknown = { host: 'redis.invalid', port: 6379 };
const { port: untrustedPort } = untrusted.address() as AddressInfo; // it listens on TCP
const { port: webPort } = web.address() as AddressInfo; // likewise

const LOCATIONS = {
  'a wrong password': [{ ...single, port: closed.port, password: WRONG_PASSWORD }, /^WRONGPASS /],
  'no password': [{ ...single, port: closed.port }, /^NOAUTH /],
  'an untrusted certificate': [{ ...single, port: untrustedPort, tls: true }, /^self-signed certificate/],
  'a server that wants TLS': [{ ...single, port: untrustedPort }, /wants TLS \(rediss:\)$/],
  'a server without TLS': [{ ...single, tls: true }, /^no reply to TLS; a server without it needs redis:$/],
  'a server of another kind': [{ ...single, port: webPort }, /^what answers there is no Redis$/],
  'a name that is not found': [{ ...single, ...unknown }, /^getaddrinfo \w+ redis\.invalid$/],
  'a database that does not exist': [{ ...single, database: 4 }, /DB index is out of range/],
  'a user who may not run scripts': [
    { ...single, username: 'reader', password: 'may-read' },
    /NOPERM .*'?eval(?:sha)?'? command/,
  ],
  'Sentinels that are not there': [
    { type: 'sentinel', sentinels: [refused], masterName: 'orders', database: 0, tls: false },
    /^All sentinels are unreachable$/,
  ],
  'a cluster whose nodes are not there': [{ type: 'cluster', nodes: [refused], tls: false }, /^connect ECONNREFUSED /],
  'a cluster with another password': [
    { type: 'cluster', nodes: [{ host: HOST, port: closed.port }], password: WRONG_PASSWORD, tls: false },
    /^WRONGPASS /,
  ],
  'a server that is no cluster': [
    { type: 'cluster', nodes: [{ host: HOST, port: open.port }], tls: false },
    /cluster support disabled/,
  ],
} satisfies Record<string, [RedisLocation, RegExp]>;

describe('an operator is shown why Redis is away', () => {
  test.concurrent.each(Object.entries(LOCATIONS))('%s', async (_, [location, reason]) => {
    const redis = connectRedis(location, { timeoutMs: 1_000 }); // more than a connection takes to fail
    const changes: LimiterStateChange[] = [];
    const limiter = new ResilientLimiter({ redis, onStateChange: (change) => changes.push(change) });
    await limiter.started;
    // On a busy machine the connection may fail later than Redis counts as away.
    await eventually(() => expect(limiter.unavailableReason).toMatch(reason));
    const reported = new RegExp(`${reason.source}|^(?:Command timed out|no response)$`);
    expect(changes).toEqual([{ countedIn: 'process', reason: expect.stringMatching(reported) }]);
    expect((await limiter.check(newKey(10, 100), 1)).outcome).toBe('admitted');
    expect(limiter.unavailableReason + changes.map((change) => change.reason).join()).not.toContain(WRONG_PASSWORD);
    limiter.close();
    redis.disconnect();
  });

  test('on the command line as well', async () => {
    const [location] = LOCATIONS['a wrong password'];
    await expect(connectToAdministrate(location)).rejects.toThrow(
      /^There is no connection to Redis: WRONGPASS [^.]+\.$/,
    );
  });
});

test('nothing is counted in another database than the one that is set', async () => {
  expect(await ask(open.port, (client) => client.dbsize())).toBe(0);
});

test('once Redis is back there is no reason any more, and there is another where it goes away again', async () => {
  await using server = await startRedisServer();
  const redis = connectRedis({ ...single, port: server.port }, PATIENT);
  const limiter = new ResilientLimiter({ redis });
  await untilInUse(limiter);
  expect(limiter.unavailableReason).toBeUndefined();
  await server.kill();
  await expect
    .poll(async () => {
      await limiter.check(newKey(10, 100), 1);
      return limiter.unavailableReason;
    })
    .toMatch(/ECONNREFUSED/);
  await server.restart();
  await untilInUse(limiter);
  expect(limiter.unavailableReason).toBeUndefined();
  limiter.close();
  redis.disconnect();
});

test('of what a server says, no password is shown, and no more than a line', () => {
  const echo = "ERR unknown command 'AUTH', with args beginning with: 'default' 'hunter2' ";
  const redis = connectRedis({ ...single, ...refused });
  const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
  expect(reasonOf(redis, reply(echo))).toBe("ERR unknown command 'AUTH'");
  expect(reasonOf(redis, reply(`ERR ${'x'.repeat(1_000)}\nmore`))).toMatch(/^ERR x{156}\.\.\.$/);
  redis.disconnect();
});

test.each(['MOVED 13095 127.0.0.1:7103', "CROSSSLOT Keys in request don't hash to the same slot"])(
  'an operator who named one node of a cluster learns that it is one, and what to name: %s',
  (message) => {
    const redis = connectRedis({ ...single, ...refused });
    const reply = Object.assign(new Error(message), { name: 'ReplyError' });
    expect(reasonOf(redis, reply)).toMatch(/Redis Cluster: name several of its nodes/);
    redis.disconnect();
  },
);

test('who named Sentinels is not told to name another server', () => {
  const redis = connectRedis({ type: 'sentinel', sentinels: [refused], masterName: 'orders', database: 0, tls: false });
  const reply = Object.assign(new Error("READONLY You can't write against a read only replica."), {
    name: 'ReplyError',
  });
  expect(reasonOf(redis, reply)).toMatch(/^READONLY /);
  redis.disconnect();
});

describe('a connection that is lost', () => {
  test.each([
    { type: 'single', ...refused, database: 0, tls: false },
    { type: 'sentinel', sentinels: [refused], masterName: 'orders', database: 0, tls: false },
    { type: 'cluster', nodes: [refused], tls: false },
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

test('two deployments with prefixes of their own share a Redis and see nothing of each other', async () => {
  await using database = await createTestRedis();
  const { hostname: host, port, pathname } = new URL(database.url);
  const connect = (keyPrefix: string) =>
    connectRedis(
      { type: 'single', host, port: Number(port), database: Number(pathname.slice(1)), tls: false },
      { keyPrefix, ...PATIENT },
    );
  const [shop, clinic, plain] = [connect('shop:'), connect('clinic:'), connect('')];
  using ofShop = await openLimiter({ redis: shop });
  using ofClinic = await openLimiter({ redis: clinic });
  using ofPlain = await openLimiter({ redis: plain });
  const [key, address] = [newKey(2, 100), { name: 'address:192.0.2.1', perMinute: 60, perDay: undefined }];

  await hammer(ofShop.limiter, key);
  await ofShop.limiter.check(address, 60);
  for (const { limiter } of [ofClinic, ofPlain]) {
    expect(await limiter.check(key, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 1 } });
    expect(await limiter.check(address, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 59 } });
  }

  const bansOf = (redis: typeof shop) => new RateLimitAdministration(redis).listBans();
  await eventually(async () => expect(await bansOf(shop)).toHaveLength(1));
  expect(await bansOf(clinic)).toEqual([]);
  expect(await bansOf(plain)).toEqual([]);
  expect(await new RateLimitAdministration(clinic).liftBan(key.name)).toBeUndefined();
  expect(await new RateLimitAdministration(shop).liftBan(key.name)).toMatchObject({ level: 1 });

  const client = new Redis(database.url);
  const names = await client.keys('*');
  client.disconnect();
  const named = (prefix: string) => [`${prefix}limits:of:address:192.0.2.1`, `${prefix}limits:of:${key.name}`];
  // The probe of a start is a subject, too; an emptied list of bans is gone.
  expect(names.filter((name) => !name.includes('probe')).sort()).toEqual([
    ...named('clinic:'),
    ...named(''),
    ...named('shop:'),
  ]);
});
