import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../src/transport/clock.ts';

describe('the clock', () => {
  test('makes no call early', async () => {
    for (let i = 0; i < 40; i++) {
      const dueMs = systemClock.now() + 2.5;
      const calledMs = await new Promise<number>((resolve) => {
        systemClock.schedule(() => resolve(systemClock.now()), 2.5);
      });
      expect(calledMs).toBeGreaterThanOrEqual(dueMs);
    }
  });

  test('does not call who has cancelled', async () => {
    let calls = 0;
    const cancel = systemClock.schedule(() => calls++, 5);
    systemClock.schedule(() => calls++, 30 * 86_400_000)();
    cancel();
    await sleep(20);
    expect(calls).toBe(0);
  });

  test.each([30 * 86_400_000, Number.POSITIVE_INFINITY])(
    'takes no wait that is longer than a timer can for none: %d ms',
    async (delayMs) => {
      let calls = 0;
      const cancel = systemClock.schedule(() => calls++, delayMs);
      await sleep(20);
      cancel();
      expect(calls).toBe(0);
    },
  );
});
