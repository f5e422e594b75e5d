import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CircuitBreaker } from '../src/circuit-breaker.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const FAILURE = new Error('no response');

/** A breaker that is closed, and whose probes end as Redis is. */
function openBreaker() {
  let [isRedisThere, probes] = [true, 0];
  const changes: string[] = [];
  const breaker = new CircuitBreaker({
    async probe() {
      probes++;
      if (isRedisThere) return breaker.succeeded();
      breaker.failed(FAILURE);
      throw FAILURE;
    },
    onChange: () => changes.push(breaker.isOpen ? 'open' : 'closed'),
  });
  expect(breaker.isOpen, 'before the first success').toBe(true);
  breaker.succeeded();
  expect(changes.splice(0)).toEqual(['closed']);
  return {
    breaker,
    changes,
    countProbes: () => probes,
    loseRedis: () => {
      isRedisThere = false;
    },
    restoreRedis: () => {
      isRedisThere = true;
    },
    /** Calls that fail one after the other. */
    async fail(count: number) {
      for (let i = 0; i < count; i++) {
        breaker.failed(FAILURE);
        await vi.advanceTimersByTimeAsync(0); // a probe ends
      }
    },
  };
}

test('it opens after five failures of which the last was a probe, if nothing has succeeded for 300 ms', async () => {
  const { breaker, changes, loseRedis, fail } = openBreaker();
  using _ = breaker;
  loseRedis();
  await fail(10);
  expect(breaker.isOpen, 'too soon').toBe(false);
  await vi.advanceTimersByTimeAsync(300);
  await fail(1);
  expect(changes).toEqual(['open']);
  expect(breaker.lastError).toBe(FAILURE);
});

test('it stays closed while probes succeed: another master of a cluster is away', async () => {
  const { breaker, changes, fail } = openBreaker();
  using _ = breaker;
  for (let i = 0; i < 10; i++) {
    await vi.advanceTimersByTimeAsync(400);
    await fail(4);
  }
  expect(changes).toEqual([]);
});

test('it probes once a second while nothing succeeds, and closes with the first success', async () => {
  const { breaker, changes, countProbes, loseRedis, restoreRedis } = openBreaker();
  using _ = breaker;
  loseRedis();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(changes).toEqual(['open']);
  const before = countProbes();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(countProbes() - before).toBe(5);
  restoreRedis();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(changes).toEqual(['open', 'closed']);
});
