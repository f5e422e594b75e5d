import { chownSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '@petstore/runtime';
import { findUnprivilegedUser } from '@petstore/runtime/servers';
import { waitUntilAccepting } from './accepting.ts';
import { findLastingPort, type PrivateServer, runPrivateServer } from './private-server.ts';
import { findExecutable } from './servers/find-executable.ts';
import { spawnServer, stopServer } from './servers/server-process.ts';
import { createTemporaryFolder, endWithTestRun } from './temporary-folder.ts';

export interface PgBouncerOptions {
  readonly poolMode: 'session' | 'transaction' | 'statement';
  /** Other settings by name, as in pgbouncer.ini. */
  readonly config?: Readonly<Record<string, string | number>>;
}

/**
 * Starts a private PgBouncer in front of a PostgreSQL server. It takes about 20 ms. Every client is logged in as the
 * user of the URL. End it before the databases that were used through it, to which it keeps connections.
 *
 * @param databaseUrl what its own URL leads to
 */
export async function startPgBouncer(
  databaseUrl: string,
  { poolMode, config = {} }: PgBouncerOptions,
): Promise<PrivateServer> {
  const program = findExecutable('pgbouncer');
  if (program === undefined) {
    throw new RuntimeError(
      'PgBouncer is needed, and this machine has none: apt-get install pgbouncer (Debian, Ubuntu).',
    );
  }
  const folder = createTemporaryFolder();
  const user = findUnprivilegedUser(); // it does not run as root
  const port = await findLastingPort();
  const target = new URL(databaseUrl);
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: poolMode,
    default_pool_size: 40,
    ...config,
  };
  const file = join(folder.path, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}`,
    '[pgbouncer]',
    ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  if (user !== undefined) chownSync(file, user.uid, user.gid);
  const url = new URL(databaseUrl);
  url.port = String(port);
  return runPrivateServer({
    port,
    url: url.href,
    async start() {
      const log = openSync(join(folder.path, 'pgbouncer.log'), 'w', 0o600);
      const server = await spawnServer([program, file], {
        cwd: '/',
        stdio: ['ignore', log, log],
        ...(user && { uid: user.uid, gid: user.gid }),
      });
      closeSync(log);
      await waitUntilAccepting(server, port, 'PgBouncer');
      return server;
    },
    stop: (server) => stopServer(server, [{ signal: 'SIGTERM', graceMs: 5_000 }]),
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
}
