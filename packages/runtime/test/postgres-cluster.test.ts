import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  findPostgresBinaries,
  findUnprivilegedUser,
  initialiseCluster,
  type PostgresCluster,
  startPostgres,
  stopPostgres,
} from '../src/servers.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-runtime-')); // closed to everybody else
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function clusterIn(path: string, binaries: PostgresCluster['binaries']): PostgresCluster {
  const user = findUnprivilegedUser();
  const passwordFile = join(path, 'password');
  writeFileSync(passwordFile, 'secret', { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  return { binaries, folder: join(path, 'data'), logFile: join(path, 'log'), passwordFile, user };
}

describe('a PostgreSQL server', () => {
  test('runs where its programs and its data both lie in a folder that is closed to others', async () => {
    const { initdb } = await findPostgresBinaries();
    execFileSync('cp', ['-a', dirname(dirname(initdb)), join(folder, 'programs')]);
    const bin = join(folder, 'programs', 'bin');
    const cluster = clusterIn(folder, { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') });
    await initialiseCluster(cluster, { flush: false });
    const { port, process: server } = await startPostgres(cluster, { fsync: 'off' });
    try {
      const client = new pg.Client({
        host: '127.0.0.1',
        port,
        user: 'petstore',
        password: 'secret',
        database: 'postgres',
      });
      await client.connect();
      expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      await client.end();
    } finally {
      await stopPostgres(server);
    }
    expect(server.isRunning()).toBe(false);
  });

  test('that cannot start says why, in its own last words', async () => {
    const cluster = clusterIn(folder, await findPostgresBinaries());
    await initialiseCluster(cluster, { flush: false });
    const log = (name: string) => startPostgres(cluster, { [name]: 'nonsense' });
    await expect(log('shared_buffers')).rejects.toThrow(
      /^PostgreSQL did not start: invalid value for parameter "shared_buffers": "nonsense" \(its log: .+\)$/,
    );
  });

  test('that is newer than its data says how they are moved', async () => {
    const cluster = clusterIn(folder, await findPostgresBinaries());
    await initialiseCluster(cluster, { flush: false });
    writeFileSync(join(cluster.folder, 'PG_VERSION'), '17\n');
    await expect(startPostgres(cluster, {})).rejects.toThrow(
      /^PostgreSQL did not start: its data was initialized by PostgreSQL version 17; run it with the release that made it, or move it as docs\/operations\.md says/,
    );
  });

  test('whose data folder cannot be made says why', async () => {
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o711);
    const cluster = clusterIn(folder, await findPostgresBinaries());
    const withoutPassword = { ...cluster, passwordFile: join(folder, 'missing') };
    await expect(initialiseCluster(withoutPassword, { flush: false })).rejects.toThrow(
      /^PostgreSQL could not make its data folder .+: .*could not open file ".+missing"/,
    );
  });
});
