import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { findUnprivilegedUser } from '@petstore/runtime/servers';
import {
  createTemporaryFolder,
  findExecutable,
  findFreePort,
  type PrivateServer,
  runPrivateServer,
  writePrivately,
} from '@petstore/testing';

/**
 * Starts a private Pgpool-II in front of PostgreSQL servers of one user and password. It takes about half a second.
 *
 * @param configuration the text of a pgpool.conf; where it listens and keeps its files is put behind it, and wins
 * @param databaseUrl of the primary: its user, password and database are those of the URL of Pgpool-II
 */
export async function startPgpool(configuration: string, databaseUrl: string): Promise<PrivateServer> {
  const program = findExecutable('pgpool');
  if (program === undefined) {
    throw new Error('Pgpool-II is needed, and this machine has none: apt-get install pgpool2 (Debian, Ubuntu).');
  }
  const folder = createTemporaryFolder();
  const user = findUnprivilegedUser();
  const port = await findFreePort();
  const url = Object.assign(new URL(databaseUrl), { port });
  const write = (name: string, text: string): string => {
    const file = join(folder.path, name);
    writePrivately(file, text, user);
    return file;
  };
  if (user !== undefined) chownSync(folder.path, user.uid, user.gid);
  const ownSettings = {
    listen_addresses: '127.0.0.1',
    port,
    socket_dir: folder.path,
    pcp_listen_addresses: '',
    pcp_port: await findFreePort(),
    pcp_socket_dir: folder.path,
    pid_file_name: join(folder.path, 'pgpool.pid'),
    logdir: folder.path,
    pool_passwd: write('pool_passwd', `${url.username}:TEXT${url.password}\n`),
  };
  const lines = Object.entries(ownSettings).map(([name, value]) => `${name} = '${value}'\n`);
  const file = write('pgpool.conf', `${configuration}\n${lines.join('')}`);
  const access = write('pool_hba.conf', 'host all all 127.0.0.1/32 scram-sha-256\n');
  return runPrivateServer(
    {
      name: 'Pgpool-II',
      command: [program, '-n', '-D', '-f', file, '-a', access, '-F', write('pcp.conf', '')],
      user,
      logFile: join(folder.path, 'pgpool.log'),
      ready: /successfully started/,
      stopSignal: 'SIGINT',
    },
    { port, url: url.href, folder },
  );
}
