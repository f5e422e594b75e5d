import { type ApiKeyId, subjectNameOf } from '@petstore/domain';
import { manualClock, startRedisServer } from '@petstore/testing';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { Metrics } from '../src/operations/metrics.ts';
import { type LimitsOptions, openLimiter } from '../src/operations/open-limiter.ts';

/** The settings of a server without a Redis. */
const IN_PROCESS = { redis: undefined, redisPrefix: '', instances: 1 };

const createTestMetrics = () => new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });

const optionsWith = (options: Partial<LimitsOptions>): LimitsOptions => ({
  logger: pino({ level: 'silent' }),
  metrics: createTestMetrics(),
  clock: () => new Date(),
  onBan() {},
  ...options,
});

test('without a Redis a ban is counted once, by level, and one of the keys that are banned', async () => {
  await using resources = new AsyncDisposableStack();
  const metrics = createTestMetrics();
  const onBan = vi.fn<(keyId: ApiKeyId) => void>();
  const limits = openLimiter(IN_PROCESS, optionsWith({ metrics, onBan }), resources);
  const { limiter } = limits;
  const keyId = 'aaaaaaaa' as ApiKeyId; // as a generated one
  const subject = { name: subjectNameOf(keyId), perMinute: 1, perDay: 1_000 };
  for (let i = 0; i < 300; i++) await limiter.check(subject, 1);
  expect(onBan.mock.calls).toEqual([[keyId]]);
  const text = await metrics.registry.metrics();
  expect(text).toContain('\npetstore_bans_set_total{level="1"} 1\npetstore_bans_set_total{level="2"} 0\n');
  expect(await limits.countBannedKeys()).toBe(1);
  expect(text).toContain('\npetstore_rate_limit_checks_total{decided="process"} 300\n');
  expect(limits.readState()).toMatchObject({ mode: 'in-process', degradedSeconds: 0 });
});

test('without a Redis windows go by the clock that is passed in', async () => {
  await using resources = new AsyncDisposableStack();
  const clock = manualClock('2026-11-20T12:00:00.000Z');
  const { limiter } = openLimiter(IN_PROCESS, optionsWith({ clock }), resources);
  const subject = { name: 'key:aaaaaaaa', perMinute: 1, perDay: 1_000 };
  expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted' });
  expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'refused', retryAfterSeconds: 61 });
  clock.advance(61_000);
  expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'admitted' });
});

test('each absence of Redis is counted once, and is a line of the log, as is its return', async () => {
  await using server = await startRedisServer();
  await using resources = new AsyncDisposableStack();
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const target = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
  const limits = openLimiter({ ...IN_PROCESS, redis: target }, optionsWith({ logger }), resources);
  await limits.started;
  expect(limits.readState()).toMatchObject({ mode: 'redis', fallbacks: 0 });
  const stateAfterCheck = async () => {
    await limits.limiter.check({ name: 'key:aaaaaaaa', perMinute: 60, perDay: 1_000 }, 1);
    return limits.readState();
  };
  for (const [fallbacks, fail, repair] of [
    [1, () => server.kill(), () => server.restart()],
    [2, () => server.pause(), () => server.resume()],
  ] as const) {
    await fail();
    await expect.poll(stateAfterCheck, { timeout: 20_000 }).toMatchObject({ mode: 'degraded', fallbacks });
    await repair();
    await expect.poll(() => limits.readState(), { timeout: 20_000 }).toMatchObject({ mode: 'redis', fallbacks });
  }
  const said = lines.map((line) => JSON.parse(line).msg.replace(/:.*/, ''));
  expect(said).toEqual([1, 2].flatMap(() => ['Redis is unavailable', 'Redis is available again']));
});

test('a Redis that forgets the wrong keys once it is full is a line of the log at the start', async () => {
  await using server = await startRedisServer({
    config: { maxmemory: 100_000_000, 'maxmemory-policy': 'allkeys-lru' },
  });
  await using resources = new AsyncDisposableStack();
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const target = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
  await openLimiter({ ...IN_PROCESS, redis: target }, optionsWith({ logger }), resources).started;
  await expect
    .poll(() => lines.map((line) => JSON.parse(line)))
    .toEqual([
      expect.objectContaining({
        level: 40,
        redis: `127.0.0.1:${server.port}`,
        policy: 'allkeys-lru',
        maxMemoryBytes: 100_000_000,
        msg: expect.stringMatching(/evict exhausted limits and bans\. Set maxmemory-policy volatile-ttl\.$/),
      }),
    ]);
});
