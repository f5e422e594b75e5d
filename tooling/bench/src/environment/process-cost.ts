import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether this machine measures what single processes cost, as Linux does in /proc. */
export const MEASURES_COST = existsSync('/proc/self/stat');

/** The kernel counts in hundredths of a second (USER_HZ), whatever its own clock. */
const TICK_MS = 10;

interface ProcessStat {
  readonly parent: number;
  /** Processor time, that of ended and awaited children included. */
  readonly cpuMs: number;
}

/** @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function readStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before may hold anything, so fields are counted behind its bracket; the first of them is field 3.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const field = (number: number) => Number(fields[number - 3]);
    return { parent: field(4), cpuMs: (field(14) + field(15) + field(16) + field(17)) * TICK_MS };
  } catch {
    return undefined; // it has just ended
  }
}

/** A process and all its descendants. */
export function processTree(root: number): readonly number[] {
  if (!MEASURES_COST) return [root];
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat !== undefined) parents.set(Number(name), stat.parent);
  }
  const isWithin = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === root || isWithin(parents.get(pid)));
  return [...parents.keys()].filter(isWithin);
}

export const cpuMsOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (readStat(pid)?.cpuMs ?? 0), 0);

/** The most resident memory that each has had since its start, together, in MB. */
export const peakMbOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + peakMb(pid), 0);

function peakMb(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
