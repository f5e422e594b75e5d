import { describe, expect, test } from 'vitest';
import { CircuitBreaker } from '../src/redis/circuit-breaker.ts';

const T0 = 123_456;

function recordAt(breaker: CircuitBreaker, outcomes: string, everyMs: number, fromMs = T0): void {
  for (const [i, outcome] of [...outcomes].entries()) {
    const nowMs = fromMs + i * everyMs;
    if (outcome === '+') breaker.recordSuccess(nowMs);
    else breaker.recordFailure(nowMs);
  }
}

describe('a circuit breaker', () => {
  test('is closed at first', () => {
    expect(new CircuitBreaker().isOpen).toBe(false);
  });

  test.each([
    ['----', 10, false],
    ['-----', 10, true],
    ['-----', 100_000, true],
    ['----+----+----', 10, false],
    ['+-+-+-+-+-+-+-+-+-', 10, false], // half of 18
    ['+-+-+-+-+-+-+-+-+-+-', 10, true], // half of 20
    ['++-+-+-+-+-+-+-+-+-+-', 10, false], // less than half
    ['+-+-+-+-+-+-+-+-+-+-+-+-', 100, false], // never 20 within a second
  ])('after %s, one every %d ms, is open: %s', (outcomes, everyMs, isOpen) => {
    const breaker = new CircuitBreaker();
    recordAt(breaker, outcomes, everyMs);
    expect(breaker.isOpen).toBe(isOpen);
  });

  test('forgets what is older than a second', () => {
    const breaker = new CircuitBreaker();
    recordAt(breaker, '+-+-+-+-+-+-+-+-+-', 10);
    recordAt(breaker, '+-+-+-+-', 10, T0 + 1_300);
    expect(breaker.isOpen).toBe(false);
  });

  test('stays open until it is closed, and starts afresh then', () => {
    const breaker = new CircuitBreaker();
    recordAt(breaker, '-----+++', 10);
    expect(breaker.isOpen).toBe(true);
    breaker.close();
    expect(breaker.isOpen).toBe(false);
    recordAt(breaker, '----', 10);
    expect(breaker.isOpen).toBe(false);
  });
});
