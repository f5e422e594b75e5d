import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../process/server-process.ts';

interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  readonly isReady: boolean;
}

/** Reads postmaster.pid: the pid in line 1, the port in line 4, the status in line 8 (PostgreSQL's miscadmin.h). */
export function readPostmasterFile(folder: string): PostmasterFile | undefined {
  try {
    const lines = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' };
  } catch {
    return undefined;
  }
}

/** Whether a process is the server of a data folder, and not another that got the pid after a restart of the machine. */
export function isPostmasterOf(pid: number, folder: string): boolean {
  if (!Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder);
  } catch {
    // No /proc, as on macOS. PostgreSQL itself refuses to start on a folder whose server lives, so trust its file.
    return true;
  }
}
