import { once } from 'node:events';
import type { ApiKeyId } from '@petstore/domain';
import { channelsOf, connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';
import { PATIENCE_MS, PATIENTLY, startRedisServer } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { openAnnouncements } from '../src/operations/announcements.ts';

const handlers = () => ({ onKeyChanged: vi.fn<(id: ApiKeyId) => void>(), onEvents: vi.fn<() => void>() });

const PATIENT = { timeoutMs: PATIENCE_MS };

const KEY_CHANGED = channelsOf('shop:').apiKeyChanged;

test('without a Redis a process hears itself, once of what comes together', async () => {
  const own = handlers();
  await using resources = new AsyncDisposableStack();
  const announce = openAnnouncements({ redis: undefined, redisPrefix: '' }, own, resources);
  for (let i = 0; i < 3; i++) announce();
  await vi.waitFor(() => expect(own.onEvents).toHaveBeenCalledOnce(), PATIENTLY);
});

test('processes hear each other and what the command line says, and again when Redis was away', async () => {
  await using resources = new AsyncDisposableStack();
  const { port } = resources.use(await startRedisServer());
  const target: RedisTarget = { type: 'single', host: '127.0.0.1', port, database: 0, tls: false };
  const [own, other] = [handlers(), handlers()];
  const announce = openAnnouncements({ redis: target, redisPrefix: 'shop:' }, own, resources);
  openAnnouncements({ redis: target, redisPrefix: 'shop:' }, other, resources);
  await vi.waitFor(() => {
    announce();
    expect(other.onEvents).toHaveBeenCalled();
  }, PATIENTLY);
  expect(own.onEvents).toHaveBeenCalled();
  const redis = connectRedis(target, PATIENT);
  resources.defer(() => redis.disconnect());
  await once(redis, 'ready');
  await redis.publish(KEY_CHANGED, 'abcd1234');
  await vi.waitFor(
    () =>
      expect([own, other].map(({ onKeyChanged }) => onKeyChanged.mock.calls)).toEqual([[['abcd1234']], [['abcd1234']]]),
    PATIENTLY,
  );
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  other.onEvents.mockClear();
  await vi.waitFor(() => {
    announce();
    expect(other.onEvents).toHaveBeenCalled();
  }, PATIENTLY);
});

test('two deployments on one Redis, with prefixes of their own, hear nothing of each other', async () => {
  await using resources = new AsyncDisposableStack();
  const { port } = resources.use(await startRedisServer());
  const target: RedisTarget = { type: 'single', host: '127.0.0.1', port, database: 0, tls: false };
  const [shop, same, other] = [handlers(), handlers(), handlers()];
  const announce = openAnnouncements({ redis: target, redisPrefix: 'shop:' }, shop, resources);
  openAnnouncements({ redis: target, redisPrefix: 'shop:' }, same, resources);
  openAnnouncements({ redis: target, redisPrefix: '' }, other, resources);
  const redis = connectRedis(target, PATIENT);
  resources.defer(() => redis.disconnect());
  await once(redis, 'ready');
  await vi.waitFor(
    async () => expect(await redis.publish(channelsOf('').apiKeyChanged, 'abcd1234')).toBe(1),
    PATIENTLY,
  );
  await vi.waitFor(() => {
    announce();
    expect(same.onEvents).toHaveBeenCalled();
  }, PATIENTLY);
  expect(other.onEvents).not.toHaveBeenCalled();
  expect(shop.onKeyChanged).not.toHaveBeenCalled();
});

test('a user of Redis who may not use the channel of events still hears of keys', async () => {
  await using resources = new AsyncDisposableStack();
  const { port } = resources.use(await startRedisServer());
  const target: RedisTarget = { type: 'single', host: '127.0.0.1', port, database: 0, tls: false };
  const administrator = connectRedis(target, PATIENT);
  resources.defer(() => administrator.disconnect());
  await once(administrator, 'ready');
  await administrator.call('ACL', 'SETUSER', 'former', 'on', '>secret', 'resetchannels', `&${KEY_CHANGED}`, '+@all');
  const own = handlers();
  const announce = openAnnouncements(
    { redis: { ...target, username: 'former', password: 'secret' }, redisPrefix: 'shop:' },
    own,
    resources,
  );
  await vi.waitFor(async () => {
    await administrator.publish(KEY_CHANGED, 'abcd1234');
    expect(own.onKeyChanged).toHaveBeenCalledWith('abcd1234');
  }, PATIENTLY);
  announce();
  await vi.waitFor(() => expect(own.onEvents).toHaveBeenCalledOnce(), PATIENTLY);
});
