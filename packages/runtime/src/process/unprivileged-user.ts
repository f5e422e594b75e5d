import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { RuntimeError } from '../runtime-error.ts';

/** How to start a program under another user, where this process is root and the program refuses that. */
export interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL does not run as root. Its packaged user is best, because nothing else runs as that. */
const CANDIDATES = ['postgres', 'nobody'];

/** The user to run servers as that refuse root, or `undefined` where this process is not root. */
export function findUnprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map<string, UnprivilegedUser>();
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name = '', , uid, gid] = line.split(':');
    if (Number(uid) > 0) users.set(name, { name, uid: Number(uid), gid: Number(gid) });
  }
  for (const name of CANDIDATES) {
    const user = users.get(name);
    if (user !== undefined) return user;
  }
  throw new RuntimeError(
    'PostgreSQL does not run as root, and this machine has neither a user "postgres" nor "nobody". ' +
      'Start as an ordinary user, or set DATABASE_URL.',
  );
}

/** A command and the options of `spawn` that run it as a user. */
export interface UserCommand {
  readonly command: readonly [string, ...string[]];
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Makes a command run as a user that can enter the given folders even where one above them is closed to that user, such
 * as /root or what `mktemp -d` makes: the program keeps the one capability of root that opens them, for reading, and
 * can gain no other.
 *
 * @throws RuntimeError when a folder is closed and the machine has no `setpriv` to pass that capability on
 */
export function commandAsUser(
  command: readonly [string, ...string[]],
  user: UnprivilegedUser | undefined,
  folders: readonly string[],
): UserCommand {
  if (user === undefined) return { command };
  const closed = folders.map((folder) => findClosedFolder(folder, user)).find((folder) => folder !== undefined);
  if (closed === undefined) return { command, uid: user.uid, gid: user.gid };
  const setpriv = findExecutable('setpriv');
  if (setpriv === undefined) {
    throw new RuntimeError(
      `PostgreSQL does not run as root, and the user "${user.name}" that it would run as may not enter ${closed}. ` +
        'Set DATA_DIR to a folder that others may enter, start as an ordinary user, or set DATABASE_URL.',
    );
  }
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  // access(2), by which PostgreSQL's programs look for each other, heeds a capability only with this bit.
  const capability = [
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_read_search',
    '--ambient-caps=+dac_read_search',
  ];
  const bounds = ['--bounding-set=-all,+dac_read_search', '--no-new-privs'];
  return { command: [setpriv, ...identity, ...capability, ...bounds, '--', ...command] };
}

/** The topmost folder on the way to a path that a user may not enter. */
function findClosedFolder(path: string, user: UnprivilegedUser): string | undefined {
  const parent = dirname(path);
  const above = parent === path ? undefined : findClosedFolder(parent, user);
  if (above !== undefined) return above;
  const { mode, uid, gid } = statSync(path);
  const enter = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & enter) === 0 ? path : undefined;
}

/** The first program of a name on PATH or in the usual folders, which a service's PATH often lacks. */
export function findExecutable(...names: readonly string[]): string | undefined {
  // biome-ignore lint/style/noProcessEnv: PATH is the machine's, not a setting of ours
  const { PATH = '' } = process.env;
  const folders = [
    ...PATH.split(delimiter),
    '/usr/local/bin',
    '/usr/bin',
    '/usr/sbin',
    '/usr/local/sbin',
    '/opt/homebrew/bin',
  ];
  for (const name of names) {
    for (const folder of folders) {
      const file = join(folder, name);
      if (folder !== '' && isExecutable(file)) return file;
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
