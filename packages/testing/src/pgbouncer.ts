import { join } from 'node:path';
import { RuntimeError } from '@petstore/runtime';
import { findUnprivilegedUser } from '@petstore/runtime/servers';
import { findExecutable } from './find-executable.ts';
import { findFreePort } from './free-port.ts';
import { type PrivateServer, runPrivateServer } from './private-server.ts';
import { writePrivately } from './server-programs.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

export interface PgBouncerOptions {
  readonly poolMode: 'session' | 'transaction' | 'statement';
  /** Other settings by name, as in pgbouncer.ini. */
  readonly config?: Readonly<Record<string, string | number>>;
}

/**
 * Starts a private PgBouncer in front of a PostgreSQL server, in about 20 ms. It logs every client in as the user of the
 * URL. End it before the databases that were used through it, because it keeps connections to them.
 *
 * @param databaseUrl the database that the PgBouncer's own URL leads to
 */
export async function startPgBouncer(databaseUrl: string, options: PgBouncerOptions): Promise<PrivateServer> {
  const program = findExecutable('pgbouncer');
  if (program === undefined) {
    throw new RuntimeError(
      'PgBouncer is needed, and this machine has none: apt-get install pgbouncer (Debian, Ubuntu).',
    );
  }
  const folder = createTemporaryFolder();
  const user = findUnprivilegedUser(); // PgBouncer does not run as root
  const port = await findFreePort();
  const { hostname, port: targetPort, username, password } = new URL(databaseUrl);
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: options.poolMode,
    default_pool_size: 40,
    ...options.config,
  };
  const file = join(folder.path, 'pgbouncer.ini');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  const target = `host=${hostname} port=${targetPort} user=${username} password=${password}`;
  writePrivately(file, `[databases]\n* = ${target}\n[pgbouncer]\n${lines.join('')}`, user);
  return runPrivateServer(
    {
      name: 'PgBouncer',
      command: [program, file],
      user,
      logFile: join(folder.path, 'pgbouncer.log'),
      ready: /process up/,
    },
    { port, url: Object.assign(new URL(databaseUrl), { port }).href, folder },
  );
}
