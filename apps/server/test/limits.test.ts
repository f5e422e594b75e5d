import { Writable } from 'node:stream';
import { startRedisServer } from '@petstore/testing';
import pino from 'pino';
import { expect, test } from 'vitest';
import { openLimits } from '../src/operations/limits.ts';

test.each([
  [false, 'counts in its own process'],
  [true, 'does not start: another server on its port would count for itself'],
])('without a Redis a server with reusePort=%s %s', async (reusePort) => {
  await using resources = new AsyncDisposableStack();
  const options = { redisPrefix: '', instances: 1, reusePort, logger: pino({ level: 'silent' }), onKeyChanged() {} };
  const open = () => openLimits(undefined, options, resources).mode();
  if (reusePort) expect(open).toThrow(/^REUSE_PORT is on, and there is no Redis .* Set REDIS_URL\.$/);
  else expect(open()).toBe('in-process');
});

test('a Redis that forgets the wrong keys once it is full is a line of the log at the start', async () => {
  await using server = await startRedisServer({
    config: { maxmemory: 100_000_000, 'maxmemory-policy': 'allkeys-lru' },
  });
  await using resources = new AsyncDisposableStack();
  const lines: string[] = [];
  const log = new Writable({
    write(chunk, _, callback) {
      lines.push(String(chunk));
      callback();
    },
  });
  const options = { redisPrefix: '', instances: 1, reusePort: false, logger: pino(log), onKeyChanged() {} };
  const target = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
  await openLimits(target, options, resources).started;
  await expect
    .poll(() => lines.map((line) => JSON.parse(line)))
    .toEqual([
      expect.objectContaining({
        level: 40,
        redis: `127.0.0.1:${server.port}`,
        policy: 'allkeys-lru',
        maxMemoryBytes: 100_000_000,
        msg: expect.stringMatching(/forget keys that have used up their limits.* Set maxmemory-policy volatile-ttl\.$/),
      }),
    ]);
});
