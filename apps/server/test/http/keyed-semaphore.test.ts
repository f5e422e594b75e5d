import { expect, test } from 'vitest';
import { KeyedSemaphore } from '../../src/http/concurrency.ts';

test('what was acquired is released once, however often it is asked for', () => {
  const semaphore = new KeyedSemaphore();
  const release = semaphore.tryAcquire('a', 2, 3) ?? expect.fail('it should fit');
  semaphore.tryAcquire('a', 1, 3);
  release();
  release();
  expect(semaphore.acquired('a')).toBe(1);
  expect(semaphore.tryAcquire('a', 3, 3)).toBeUndefined();
});
