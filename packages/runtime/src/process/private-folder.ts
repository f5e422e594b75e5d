import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '../errors.ts';
import { findUnprivilegedUser, type UnprivilegedUser } from './unprivileged-user.ts';

/** macOS limits a socket's path to 104 bytes with its final zero; Linux allows four more. */
const SOCKET_PATH_BYTES_MAX = 103;

/**
 * The folder for the socket of a server: the server's own, or one in /tmp if the path would be too long. It is the same
 * for every process, which TMPDIR may not be.
 */
export function findSocketFolder(folder: string, socket: string): string {
  if (Buffer.byteLength(join(folder, socket)) <= SOCKET_PATH_BYTES_MAX) return folder;
  return `/tmp/petstore-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`;
}

/** The user for a server whose folder this is, or will be; `undefined` for the user of this process. */
export function findUserOf(folder: string): UnprivilegedUser | undefined {
  const isOthers = process.getuid?.() === 0 && fs.existsSync(folder); // root may continue to use another user's folder
  return isOthers ? fs.statSync(folder) : findUnprivilegedUser();
}

/** Makes a folder that only its user can enter, if there is none. @throws RuntimeError if it belongs to another user */
export function makePrivate(folder: string, user: UnprivilegedUser | undefined): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined && fs.lstatSync(folder).uid === 0) fs.lchownSync(folder, user.uid, user.gid);
  const found = fs.lstatSync(folder);
  const isPrivate = found.isDirectory() && found.uid === (user?.uid ?? process.getuid?.()) && (found.mode & 0o77) === 0;
  if (isPrivate) return;
  throw new RuntimeError(
    `The folder ${folder} belongs to another user, or is accessible to others. Set DATA_DIR to another.`,
  );
}
