import { chownSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '@petstore/runtime';
import { findUnprivilegedUser } from '@petstore/runtime/servers';
import { waitUntilAccepting } from './accepting.ts';
import { findLastingPort, type PrivateServer, runPrivateServer } from './private-server.ts';
import { findExecutable } from './servers/find-executable.ts';
import { spawnServer, stopServer } from './servers/server-process.ts';
import { createTemporaryFolder, endWithTestRun } from './temporary-folder.ts';

/**
 * Starts a private Pgpool-II in front of PostgreSQL servers of one user and password. It takes about half a second.
 *
 * @param configuration the text of a pgpool.conf; where it listens and keeps its files is put behind it, and wins
 * @param databaseUrl of the primary: its user, password and database are those of the URL of Pgpool-II
 */
export async function startPgpool(configuration: string, databaseUrl: string): Promise<PrivateServer> {
  const program = findExecutable('pgpool');
  if (program === undefined) {
    throw new RuntimeError('Pgpool-II is needed, and this machine has none: apt-get install pgpool2 (Debian, Ubuntu).');
  }
  const folder = createTemporaryFolder();
  const user = findUnprivilegedUser();
  const port = await findLastingPort();
  const url = new URL(databaseUrl);
  const write = (name: string, text: string): string => {
    const file = join(folder.path, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (user !== undefined) chownSync(file, user.uid, user.gid);
    return file;
  };
  if (user !== undefined) chownSync(folder.path, user.uid, user.gid);
  const ownSettings = {
    listen_addresses: '127.0.0.1',
    port,
    socket_dir: folder.path,
    pcp_listen_addresses: '',
    pcp_port: await findLastingPort(),
    pcp_socket_dir: folder.path,
    pid_file_name: join(folder.path, 'pgpool.pid'),
    logdir: folder.path,
    pool_passwd: write('pool_passwd', `${url.username}:TEXT${url.password}\n`),
  };
  const lines = Object.entries(ownSettings).map(([name, value]) => `${name} = '${value}'\n`);
  const file = write('pgpool.conf', `${configuration}\n${lines.join('')}`);
  const access = write('pool_hba.conf', 'host all all 127.0.0.1/32 scram-sha-256\n');
  const ports = write('pcp.conf', '');
  url.port = String(port);
  return runPrivateServer({
    port,
    url: url.href,
    async start() {
      const log = openSync(join(folder.path, 'pgpool.log'), 'w', 0o600);
      const server = await spawnServer([program, '-n', '-D', '-f', file, '-a', access, '-F', ports], {
        cwd: '/',
        stdio: ['ignore', log, log],
        ...(user && { uid: user.uid, gid: user.gid }),
      });
      closeSync(log);
      await waitUntilAccepting(server, port, 'Pgpool-II');
      return server;
    },
    stop: (server) => stopServer(server, [{ signal: 'SIGINT', graceMs: 5_000 }]),
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
}
