/** For waits that take many times longer on a busy machine than on an idle one; vitest's default is one second. */
export const PATIENTLY = { timeout: 25_000, interval: 20 };

/**
 * How long PostgreSQL or Redis may take for a step in tests of something else: a busy machine does not make them look
 * hung, and counts stay exact.
 */
export const PATIENCE_MS = 20_000;

/** A clock that stands still until it is advanced. A call returns the time, as with the real clock. */
export interface ManualClock {
  (): Date;
  /** Moves the clock forward, or back if the number is negative. */
  advance(milliseconds: number): void;
  set(time: Date | string): void;
}

/** @param start any time that `Date` can parse */
export function manualClock(start: Date | string = '2026-01-02T03:04:05.678Z'): ManualClock {
  let nowMs = new Date(start).getTime();
  return Object.assign(() => new Date(nowMs), {
    advance: (milliseconds: number) => {
      nowMs += milliseconds;
    },
    set: (time: Date | string) => {
      nowMs = new Date(time).getTime();
    },
  });
}
