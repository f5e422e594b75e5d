/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('there is no median of nothing');
  const lower = sorted[middle - 1];
  return sorted.length % 2 === 1 || lower === undefined ? upper : (lower + upper) / 2;
}

/** Half the range as a share of the median; `undefined` for fewer than two values, and around 0. */
export function spread(values: readonly number[]): number | undefined {
  if (values.length < 2) return undefined;
  const middle = median(values);
  return middle === 0 ? undefined : (Math.max(...values) - Math.min(...values)) / 2 / Math.abs(middle);
}

/** The ratio of two medians; `undefined` where one of them is missing, and to 0. */
export function ratioOfMedians(
  values: readonly number[] | undefined,
  base: readonly number[] | undefined,
): number | undefined {
  if (values === undefined || base === undefined || values.length === 0 || base.length === 0) return undefined;
  const divisor = median(base);
  return divisor === 0 ? undefined : median(values) / divisor;
}
