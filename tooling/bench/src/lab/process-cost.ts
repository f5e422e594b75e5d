import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Whether this machine tells what single processes cost, as Linux does in /proc. */
export const TELLS_COST = existsSync('/proc/self/stat');

/** The kernel tells times in hundredths of a second (USER_HZ), whatever its own clock. */
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

/** A process and all that descend from it. */
export function processTree(root: number): readonly number[] {
  if (!TELLS_COST) return [root];
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

function memoryMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Resident memory of some processes together, in MB. */
export const rssMbOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + memoryMb(pid, 'VmRSS'), 0);

/** The most that each has had since {@link resetPeak}, together, in MB. */
export const peakMbOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + memoryMb(pid, 'VmHWM'), 0);

export function resetPeak(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // It has just ended.
    }
  }
}

/** Processor time that the whole machine has used, what others took from it included. */
export function machineCpuMs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * TICK_MS;
}
