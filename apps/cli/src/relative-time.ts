const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

const FORMAT = new Intl.RelativeTimeFormat('en', { style: 'narrow' });

/** A moment as people say it, in the largest unit that fits: `3h ago`, `in 2d`. */
export function describeTime(time: Date, now: Date): string {
  const ms = time.getTime() - now.getTime();
  const found = UNITS.find(([, unitMs]) => Math.abs(ms) >= unitMs);
  return found === undefined ? 'now' : FORMAT.format(Math.trunc(ms / found[1]), found[0]);
}
