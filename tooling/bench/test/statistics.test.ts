import { expect, it } from 'vitest';
import { median, ratioOfMedians, spread } from '../src/statistics.ts';

it('the median is the value in the middle, or the mean of the two there', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([10, 1, 3, 5])).toBe(4);
  expect(median([7])).toBe(7);
  expect(() => median([])).toThrow(RangeError);
});

it('numbers are sorted as numbers, and the values stay as they were', () => {
  const values = [100, 9, 20];
  expect(median(values)).toBe(20);
  expect(values).toEqual([100, 9, 20]);
});

it('the spread is half the range in terms of the median', () => {
  expect(spread([90, 100, 120])).toBeCloseTo(0.15);
  expect(spread([5, 5, 5])).toBe(0);
});

it('a single value, or one around nothing, has no spread', () => {
  expect(spread([100])).toBeUndefined();
  expect(spread([-1, 0, 1])).toBeUndefined();
});

it('a ratio is that of the medians', () => {
  expect(ratioOfMedians([1, 2, 90], [4, 4, 4])).toBe(0.5);
});

it('there is no ratio to nothing, of nothing, or of what was not measured', () => {
  expect(ratioOfMedians([1], [0])).toBeUndefined();
  expect(ratioOfMedians([], [1])).toBeUndefined();
  expect(ratioOfMedians(undefined, [1])).toBeUndefined();
  expect(ratioOfMedians([1], undefined)).toBeUndefined();
});
