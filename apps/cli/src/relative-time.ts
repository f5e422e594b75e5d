/** In seconds. */
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

const FORMAT = new Intl.RelativeTimeFormat('en', { style: 'narrow' });

/** A moment in words, rounded to the largest unit that fits: `3h ago`, `in 2d`. */
export function describeTime(time: Date, now: Date): string {
  const seconds = Math.round((time.getTime() - now.getTime()) / 1_000);
  const found = UNITS.find(([, unitSeconds]) => Math.abs(seconds) >= unitSeconds);
  return found === undefined ? 'now' : FORMAT.format(Math.round(seconds / found[1]), found[0]);
}

/** The time itself, followed by the words: `2026-11-20T09:00:00.000Z (3h ago)`. */
export const describeMoment = (time: Date, now: Date): string => `${time.toISOString()} (${describeTime(time, now)})`;
