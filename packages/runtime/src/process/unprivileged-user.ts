import { readFileSync } from 'node:fs';
import { RuntimeError } from '../errors.ts';

/** The user for a program that refuses to run as root. */
export interface UnprivilegedUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user for PostgreSQL, which refuses to run as root; `undefined` if this process is not root. */
export function findUnprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8');
  // PostgreSQL's packaged user is best, because no other program runs as that user.
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users) ?? [];
  if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  throw new RuntimeError(
    'PostgreSQL does not run as root, and this machine has neither a user "postgres" nor "nobody". ' +
      'Start as an ordinary user, or set DATABASE_URL.',
  );
}

export type Command = readonly [program: string, ...args: string[]];

/**
 * Makes a command run as a user. It keeps one capability of root: to read in folders that are closed to that user, such as
 * /root or those of `mktemp -d`. It can gain no other.
 *
 * @param user `undefined` for the user of this process
 */
export function commandAsUser(command: Command, user: UnprivilegedUser | undefined): Command {
  if (user === undefined) return command;
  return [
    'setpriv',
    ...[`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'],
    // PostgreSQL's programs look for each other with access(2), which respects a capability only with this bit.
    '--securebits=+no_setuid_fixup',
    ...['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'],
    ...['--bounding-set=-all,+dac_read_search', '--no-new-privs', '--'],
    ...command,
  ];
}
