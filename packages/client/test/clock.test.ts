import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../src/transport/clock.ts';

describe('the clock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

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

  test('waits for longer than a timer can, without being woken in between more often than needed', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const beganAtMs = systemClock.now();
    const calledAtMs: number[] = [];
    const DAYS_60_MS = 5_184_000_000;
    systemClock.schedule(() => calledAtMs.push(systemClock.now() - beganAtMs), DAYS_60_MS);
    for (let timers = 0; timers < 3; timers++) vi.advanceTimersToNextTimer(); // of 24.8 days at most
    expect(calledAtMs).toEqual([DAYS_60_MS]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
