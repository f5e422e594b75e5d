import { chmodSync, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { RuntimeError } from '../runtime-error.ts';

/** The user that a folder belongs to. */
export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Makes a folder that only its owner can enter, or closes one that others can.
 *
 * @returns its owner: this user, or where this user is root, the one that made it
 * @throws RuntimeError, of one line, where it is another user's
 */
export function preparePrivateFolder(path: string): FolderOwner {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stats = statSync(path);
  if (!isOurs(stats)) {
    throw new RuntimeError(
      `The folder ${path} belongs to another user (uid ${stats.uid}). Start as that user, or set DATA_DIR to another.`,
    );
  }
  if ((stats.mode & 0o077) !== 0) chmodSync(path, 0o700);
  return stats;
}

/** The owner of a folder that {@link preparePrivateFolder} could have made, itself no link; else `undefined`. */
export function findPrivateFolderOwner(path: string): FolderOwner | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() && isOurs(stats) && (stats.mode & 0o077) === 0 ? stats : undefined;
}

function isOurs({ uid }: Stats): boolean {
  const ownUid = process.geteuid?.();
  return ownUid === undefined || ownUid === 0 || uid === ownUid;
}
