import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';

/** What distinguishes a server of ours from every other process: its user, its program and its working folder. */
export interface ProgramInFolder {
  /** Matches its command line. */
  readonly program: RegExp;
  /** Its working folder. Where that is closed to other users, none of their processes can be in it. */
  readonly folder: string;
  readonly uid: number;
}

/** Whether a process is such a one, and not another that got its id. Without /proc, as on macOS, whatever it is passes. */
export function isProgramIn(pid: number, { program, folder, uid }: ProgramInFolder): boolean {
  if (!existsSync('/proc/self/status')) return true;
  try {
    const [, effectiveUid] = /^Uid:\t\d+\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return (
      Number(effectiveUid) === uid &&
      readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder) &&
      program.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
    );
  } catch {
    return false; // it is gone, or another user's
  }
}

/** The ids of all such processes. None without /proc. */
export function findProgramsIn(what: ProgramInFolder): readonly number[] {
  if (!existsSync('/proc/self/status')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isProgramIn(pid, what));
}
