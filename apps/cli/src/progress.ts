const BAR_WIDTH = 20;

/** Before this much time has passed nothing is said of what is left, in milliseconds. */
const ESTIMATE_AFTER_MS = 1_000;

export interface Progress {
  /** What has been done, for people: `54,818 read`. */
  readonly done: string;
  /** How much of it: 0 to 1. `undefined`: nobody knows. */
  readonly fraction: number | undefined;
  readonly elapsedMs: number;
}

/** A line that says how far a long command is, and how long it still takes. */
export function describeProgress({ done, fraction, elapsedMs }: Progress): string {
  if (fraction === undefined) return done;
  const filled = Math.floor(fraction * BAR_WIDTH);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
  const percentage = `${Math.floor(fraction * 100)} %`.padStart(5);
  if (fraction >= 1) return `${bar} ${percentage}  ${done}, committing`;
  if (fraction === 0 || elapsedMs < ESTIMATE_AFTER_MS) return `${bar} ${percentage}  ${done}`;
  const leftSeconds = Math.ceil((elapsedMs / fraction - elapsedMs) / 1_000);
  return `${bar} ${percentage}  ${done}, ${describeSeconds(leftSeconds)} left`;
}

const describeSeconds = (seconds: number): string => (seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`);
