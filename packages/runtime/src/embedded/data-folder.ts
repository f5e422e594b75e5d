import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describeFileError, RuntimeError } from '../errors.ts';
import { findUnprivilegedUser, type UnprivilegedUser } from '../process/unprivileged-user.ts';

/** DATA_DIR: the folder of the embedded servers and their data. */
export interface DataFolder {
  /** Its absolute path, without symbolic links. */
  readonly path: string;
  /** The user that runs the embedded servers; `undefined` is the user of this process. */
  readonly user: UnprivilegedUser | undefined;
  /** The folder of their sockets, which only that user and root can enter. It may not exist yet. */
  readonly socketFolder: string;
}

/** macOS limits a socket's path to 104 bytes with its final zero; Linux allows four more. */
const SOCKET_FOLDER_BYTES_MAX = 103 - '/.s.PGSQL.5432'.length;

/** @param path an existing folder */
function locate(path: string): DataFolder {
  const root = fs.realpathSync(path);
  // The embedded servers of root run as the owner of the data; PostgreSQL refuses to run as root.
  const owner = process.getuid?.() === 0 ? fs.statSync(join(root, 'postgres'), { throwIfNoEntry: false }) : undefined;
  const user = owner === undefined || owner.uid === 0 ? findUnprivilegedUser() : { uid: owner.uid, gid: owner.gid };
  const sockets = join(root, 'sockets');
  if (Buffer.byteLength(sockets) <= SOCKET_FOLDER_BYTES_MAX) return { path: root, user, socketFolder: sockets };
  // Not in TMPDIR, which may be another one for another process.
  const name = `petstore-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`;
  return { path: root, user, socketFolder: join('/tmp', name) };
}

/**
 * The data folder of the server that runs on it, for commands.
 *
 * @returns `undefined` if there is no such folder
 * @throws RuntimeError, of one line, if this user may not use it
 */
export function findDataFolder(path: string): DataFolder | undefined {
  if (!fs.existsSync(`${path}/`)) return undefined; // nor is a file one
  const folder = locate(path);
  if (isPrivateOrMissing(folder.socketFolder, folder.user)) return folder;
  throw new RuntimeError(`The server on the data folder ${path} is another user's. Run this as that user, or as root.`);
}

/**
 * The data folder of a server to be started, which is made if there is none.
 *
 * @throws RuntimeError, of one line, if it cannot be used, or other users could interfere
 */
export function prepareDataFolder(path: string): DataFolder {
  prepareRoot(path);
  const folder = locate(path);
  const { path: root, user, socketFolder } = folder;
  const owner = user === undefined ? OWN_USER : `${user.uid}:${user.gid}`;
  const folders = [join(root, 'postgres'), join(root, 'redis'), join(root, 'sockets')];
  const wrong = folders.filter((folder) => !isPrivateOrMissing(folder, user)).map(quote);
  if (wrong.length > 0) {
    const message = `The user ${owner} must own ${wrong.join(' and ')}, and no other user may have access.`;
    throw new RuntimeError(`${message} Run: chown -R ${owner} ${wrong.join(' ')} && chmod 700 ${wrong.join(' ')}`);
  }
  if (isPrivateOrMissing(socketFolder, user)) return folder;
  throw new RuntimeError(`${socketFolder} belongs to another user, or is accessible to others. Remove it.`);
}

function isPrivateOrMissing(folder: string, user: UnprivilegedUser | undefined): boolean {
  try {
    const found = fs.lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) return true;
    return found.isDirectory() && found.uid === (user?.uid ?? process.getuid?.()) && (found.mode & 0o77) === 0;
  } catch {
    return false; // in the closed folder of another user
  }
}

/** Makes a folder that only its user, and root, can enter, unless it exists. */
export function makePrivate(folder: string, user: UnprivilegedUser | undefined): void {
  if (fs.existsSync(folder)) return;
  fs.mkdirSync(folder, { mode: 0o700 });
  if (user !== undefined) fs.chownSync(folder, user.uid, user.gid);
}

/** Others must not write to it: they could put links there, which would be followed. */
function prepareRoot(path: string): void {
  try {
    fs.mkdirSync(path, { recursive: true, mode: 0o700 });
    fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch (cause) {
    const reason = describeFileError(cause, { EEXIST: 'a file is in its place', ENOENT: 'it cannot be created' });
    const isDenied = cause instanceof Error && 'code' in cause && cause.code === 'EACCES' && fs.existsSync(path);
    const remedy = isDenied ? ` (or, as root: chown -R ${OWN_USER} ${quote(path)})` : '';
    const message = `The data folder ${path} cannot be written to (${reason}). Set DATA_DIR to another${remedy}.`;
    throw new RuntimeError(message, { cause });
  }
  const { uid, mode } = fs.statSync(path);
  const isRoot = process.getuid?.() === 0;
  if ((mode & (isRoot ? 0o022 : 0o002)) === 0 && (uid === 0 || !isRoot)) return;
  const chown = isRoot ? `chown ${OWN_USER} ${quote(path)} && ` : '';
  throw new RuntimeError(`Other users can write to the data folder ${path}. Run: ${chown}chmod go-w ${quote(path)}`);
}

const OWN_USER = `${process.getuid?.()}:${process.getgid?.()}`;

/** A path as shells read it. */
const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

export const isListening = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(socket);
    probe.on('error', () => resolve(false)); // such as the socket of a server that was killed
    probe.on('connect', () => {
      probe.destroy();
      resolve(true);
    });
  });
