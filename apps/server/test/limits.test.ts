import pino from 'pino';
import { expect, test } from 'vitest';
import { openLimits } from '../src/operations/limits.ts';
import { LimitCounts } from '../src/operations/metrics.ts';

test.each([
  [false, 'counts in its own process'],
  [true, 'does not start: another server on its port would count for itself'],
])('without a Redis a server with reusePort=%s %s', async (reusePort) => {
  await using resources = new AsyncDisposableStack();
  const options = {
    instances: 1,
    reusePort,
    logger: pino({ level: 'silent' }),
    counts: new LimitCounts(),
    onKeyChanged() {},
  };
  const open = () => openLimits(undefined, options, resources).mode();
  if (reusePort) expect(open).toThrow(/^REUSE_PORT is on, and there is no Redis .* Set REDIS_URL\.$/);
  else expect(open()).toBe('in-process');
});
