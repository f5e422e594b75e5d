import { chownSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { RuntimeError } from '../runtime-error.ts';
import { type FolderOwner, findPrivateFolderOwner } from './private-folder.ts';

/** What every system takes: macOS keeps 104 bytes for a path and the zero at its end, Linux 108. */
const PATH_BYTES_MAX = 103;
const SOCKET = 'redis.sock';

/** A link beside the data to a folder with a shorter path. */
const linkOf = (folder: string): string => join(folder, 'socket');

/**
 * Where the server below a folder listens: in the folder, or where that path is too long for a socket, in a folder of
 * its own for temporary files. Like the first one, that must be ours and closed to others.
 *
 * @returns `undefined` where none has been made, or what was made is no longer ours
 */
export function findSocketPath(folder: string): string | undefined {
  const path = join(folder, SOCKET);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path;
  const link = lstatSync(linkOf(folder), { throwIfNoEntry: false });
  const elsewhere = link?.isSymbolicLink() ? readlinkSync(linkOf(folder)) : undefined;
  return elsewhere !== undefined && findPrivateFolderOwner(elsewhere) !== undefined
    ? join(elsewhere, SOCKET)
    : undefined;
}

/**
 * The same, and makes the folder where it is missing.
 *
 * @param owner the user that the server runs as
 * @param lasting the path that clients know, which must be had again
 * @throws RuntimeError where that cannot be had
 */
export function prepareSocketPath(folder: string, owner: FolderOwner, lasting?: string): string {
  const path = findSocketPath(folder);
  if (path !== undefined && (lasting === undefined || lasting === path)) return path;
  const elsewhere = lasting === undefined ? mkdtempSync(join(shortTemporaryFolder(), 'petstore-')) : dirname(lasting);
  if (lasting !== undefined) makeAgain(elsewhere);
  if (process.geteuid?.() === 0) chownSync(elsewhere, owner.uid, owner.gid);
  rmSync(linkOf(folder), { force: true });
  symlinkSync(elsewhere, linkOf(folder));
  return join(elsewhere, SOCKET);
}

/** Leaves nothing among the temporary files, once the server has ended. */
export function removeSocketFolder(folder: string): void {
  const path = findSocketPath(folder);
  if (path === undefined || dirname(path) === folder) return;
  rmSync(path, { force: true });
  rmSync(linkOf(folder), { force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // Something else lies in it, which is no reason to fail.
  }
}

/** For a folder that was removed with old temporary files. Another user's folder in its place is not used. */
function makeAgain(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    throw new RuntimeError(`The folder ${folder} cannot be recreated. Restart the server.`, { cause });
  }
}

/** TMPDIR may be long, too. */
function shortTemporaryFolder(): string {
  const folder = tmpdir();
  return Buffer.byteLength(join(folder, 'petstore-XXXXXX', SOCKET)) <= PATH_BYTES_MAX ? folder : '/tmp';
}
