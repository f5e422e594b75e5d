/** One of the two sliding windows: its length, and how far apart hits may lie and still share an entry. */
export interface WindowSpec {
  readonly lengthMs: number;
  readonly quantumMs: number;
}

export const MINUTE_WINDOW = { lengthMs: 60_000, quantumMs: 1_000 } as const satisfies WindowSpec;
export const DAY_WINDOW = { lengthMs: 86_400_000, quantumMs: 300_000 } as const satisfies WindowSpec;

/**
 * The admitted cost of one window, as entries (time of last hit, count), oldest first. The newest entry is open: hits
 * join it for a quantum from its beginning. An entry leaves the window when its last hit leaves, so no unit is ever
 * given back early, and none is held for more than a quantum too long.
 */
export interface WindowLog {
  /** Entries that take no more hits, flat: last hit, count, last hit, count. */
  readonly closed: readonly number[];
  readonly openBeginMs: number;
  readonly openLastMs: number;
  /** 0 where the log is empty. */
  readonly openCount: number;
  /** The sum of all counts. */
  readonly total: number;
}

export const EMPTY_LOG: WindowLog = { closed: [], openBeginMs: 0, openLastMs: 0, openCount: 0, total: 0 };

/** Counts are stored in four bytes. */
const COUNT_MAX = 4_000_000_000;

/** The log without the entries that have left the window `(atMs - length, atMs]`. */
export function expireLog(log: WindowLog, spec: WindowSpec, atMs: number): WindowLog {
  const leftMs = atMs - spec.lengthMs;
  if (log.openCount === 0) return log;
  if (log.openLastMs <= leftMs) return EMPTY_LOG;
  const { closed } = log;
  let kept = 0;
  let total = log.total;
  while (kept < closed.length && (closed[kept] ?? 0) <= leftMs) {
    total -= closed[kept + 1] ?? 0;
    kept += 2;
  }
  if (kept === 0) return log;
  return { ...log, closed: closed.slice(kept), total };
}

/** The log with `count` more units at `atMs`, which is not before its last hit. */
export function addToLog(log: WindowLog, spec: WindowSpec, atMs: number, count: number): WindowLog {
  const added = Math.min(count, COUNT_MAX - log.total);
  if (added <= 0) return log;
  const total = log.total + added;
  if (log.openCount > 0 && atMs - log.openBeginMs < spec.quantumMs) {
    const { closed, openBeginMs, openCount } = log;
    return { closed, openBeginMs, openLastMs: atMs, openCount: openCount + added, total };
  }
  const closed = log.openCount === 0 ? log.closed : [...log.closed, log.openLastMs, log.openCount];
  return { closed, openBeginMs: atMs, openLastMs: atMs, openCount: added, total };
}

/**
 * When the window will have let go of that many units, if nothing is added, and how many it will have let go of then.
 *
 * @param units at most the total
 */
export function freedBy({ closed, openLastMs, total }: WindowLog, { lengthMs }: WindowSpec, units: number) {
  let freed = 0;
  for (let i = 0; i < closed.length; i += 2) {
    freed += closed[i + 1] ?? 0;
    if (freed >= units) return { atMs: (closed[i] ?? 0) + lengthMs, units: freed };
  }
  return { atMs: openLastMs + lengthMs, units: total };
}

/** When `remaining` will next grow; `atMs` where the window is empty. */
export function nextFreedAtMs(log: WindowLog, spec: WindowSpec, limit: number, atMs: number): number {
  return log.openCount === 0 ? atMs : freedBy(log, spec, Math.max(1, log.total - limit + 1)).atMs;
}

/** The log with every time moved back by `byMs`. */
export function shiftLog(log: WindowLog, byMs: number): WindowLog {
  if (log.openCount === 0) return log;
  const closed = log.closed.map((value, i) => (i % 2 === 0 ? value - byMs : value));
  return { ...log, closed, openBeginMs: log.openBeginMs - byMs, openLastMs: log.openLastMs - byMs };
}
