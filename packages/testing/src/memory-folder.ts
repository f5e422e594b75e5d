import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';

const MEMORY_FOLDER = '/dev/shm';

/** More than the tests of a package write. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * A folder in memory for temporary files, if there is one: Linux has it, but it may be too small or forbid programs.
 * Hundreds of databases are made and dropped in a run, and a file system on a disk can take a third of the run's
 * processor time for their files.
 */
export function findMemoryFolder(): string | undefined {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    const mount = /^\S+ \/dev\/shm \S+ (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8'));
    const mayRunPrograms = mount !== null && !mount[1]?.split(',').includes('noexec');
    return mayRunPrograms && bavail * bsize >= NEEDED_BYTES ? MEMORY_FOLDER : undefined;
  } catch {
    return undefined; // another system
  }
}
