import { expect, test } from 'vitest';
import { InFlightCounts } from '../../src/http/in-flight-counts.ts';

test('what is in flight is given back once, however often its release is called', () => {
  const counts = new InFlightCounts();
  const release = counts.take('a', 2, 3) ?? expect.fail('it should fit');
  counts.take('a', 1, 3);
  release();
  release();
  expect(counts.of('a')).toBe(1);
  expect(counts.take('a', 3, 3)).toBeUndefined();
});
