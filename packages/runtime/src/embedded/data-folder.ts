import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describeFileError } from '../file-errors.ts';
import { RuntimeError } from '../runtime-error.ts';
import { type FileLock, type LockMode, lock, tryLock } from './file-lock.ts';

/**
 * Makes the data folder if there is none.
 *
 * @throws RuntimeError, of one line, when it cannot be written to
 */
export function prepareDataFolder(path: string): void {
  try {
    // As root the database runs as another user, who must pass through.
    makeFolder(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    makeFolder(join(path, 'locks'), 0o700);
  } catch (cause) {
    throw new RuntimeError(
      `The data folder ${path} cannot be written to (${describeFileError(cause, REASONS)}). Set DATA_DIR to another.`,
      {
        cause,
      },
    );
  }
}

/** Node's own recursive way never ends below /proc, where folders cannot be made. */
function makeFolder(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeFolder(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have been first.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

const REASONS = { EEXIST: 'a file is in its place', ENOENT: 'no folder can be made there' };

/**
 * Registers a server that runs on a data folder, until the lock is released.
 *
 * @param mode `exclusive`: no other server may; `shared`: those that share it, too
 * @throws RuntimeError when one runs already that excludes it
 */
export function claimDataFolder(path: string, mode: LockMode): FileLock {
  const claim = tryLock(lockFile(path, 'server'), mode);
  if (claim !== undefined) return claim;
  throw new RuntimeError(
    `Another server already runs on the data folder ${path}. Stop it, or set DATA_DIR to another.`,
  );
}

/** Waits for a lock that no other process has at the same time. @throws RuntimeError after 60 s */
export const lockDataFolder = (path: string, name: string): Promise<FileLock> =>
  lock(lockFile(path, name), 'exclusive', 60_000);

export const lockFile = (dataFolder: string, name: string): string => join(dataFolder, 'locks', name);
