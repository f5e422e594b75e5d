import { readFileSync } from 'node:fs';
import { RuntimeError } from '../runtime-error.ts';

/** Whom to run a program as, where this process is root and the program refuses that. */
export interface UnprivilegedUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user to run PostgreSQL as, which refuses root; `undefined` if this process is not root. */
export function findUnprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8');
  // Its packaged user is best, because nothing else runs as that.
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users) ?? [];
  if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  throw new RuntimeError(
    'PostgreSQL does not run as root, and this machine has neither a user "postgres" nor "nobody". ' +
      'Start as an ordinary user, or set DATABASE_URL.',
  );
}

export type Command = readonly [program: string, ...args: string[]];

/**
 * Makes a command run as a user. It keeps the one capability of root that opens, for reading, folders that are closed to
 * that user, such as /root or what `mktemp -d` makes; it can gain no other.
 *
 * @param user `undefined`: the user of this process
 */
export function commandAsUser(command: Command, user: UnprivilegedUser | undefined): Command {
  if (user === undefined) return command;
  return [
    'setpriv',
    ...[`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'],
    // access(2), by which PostgreSQL's programs look for each other, heeds a capability only with this bit.
    '--securebits=+no_setuid_fixup',
    ...['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'],
    ...['--bounding-set=-all,+dac_read_search', '--no-new-privs', '--'],
    ...command,
  ];
}
