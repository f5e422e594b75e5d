import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresParameters } from '@petstore/runtime/servers';
import pg from 'pg';
import { vi } from 'vitest';
import { findFreePort } from './free-port.ts';
import { type PrivatePostgres, runPrivatePostgres } from './private-server.ts';
import { type PostgresCluster, writePrivately } from './server-programs.ts';
import { createTemporaryFolder } from './temporary-folder.ts';
import { PATIENTLY } from './time.ts';

/** The SQLSTATE `serialization_failure`: a standby cancels a statement that conflicts with its replay. */
const CONFLICT_WITH_RECOVERY = '40001';

/** The parameters of `startPostgresServer` for a server with standbys. */
export const REPLICATION_PARAMETERS = {
  wal_level: 'replica',
  max_wal_senders: 10,
  wal_keep_size: '1GB',
} as const satisfies PostgresParameters;

export interface StandbyOptions {
  /** Whether the primary acknowledges a commit only after the standby has it on its disk, too. @default false */
  readonly synchronous?: boolean;
  /** Parameters of the standby that differ from the primary's. */
  readonly parameters?: PostgresParameters;
  /** The port, such as that of a former primary. @default a free one */
  readonly port?: number;
}

/** A server that follows another one and can be read from. */
export interface PostgresStandby extends PrivatePostgres {
  /** Makes it a primary. Resolves when it takes writes. The former primary should have ended before. */
  promote(): Promise<void>;
}

/**
 * Starts a server that follows a running one by streaming replication. Resolves when it does, after one to two seconds. It
 * has the same databases, users and passwords.
 *
 * @param primary was started with {@link REPLICATION_PARAMETERS}, or is a promoted standby
 */
export async function startPostgresStandby(
  primary: PrivatePostgres,
  { synchronous = false, parameters = {}, port: fixedPort }: StandbyOptions = {},
): Promise<PostgresStandby> {
  const folder = createTemporaryFolder();
  const port = fixedPort ?? (await findFreePort());
  const name = `standby_${port}`;
  const place = { folder: join(folder.path, 'data'), logFile: join(folder.path, 'data.log') };
  const cluster: PostgresCluster = { ...primary.cluster, ...place };
  await copyDataFolder(primary, cluster);
  const { username, password } = new URL(primary.url);
  const all = {
    ...primary.parameters,
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${username} password=${password} application_name=${name}`,
    wal_retrieve_retry_interval: '100ms', // how soon it reconnects when the primary is back
    ...parameters,
  };
  const server = await runPrivatePostgres({ cluster, parameters: all, port, folder });
  await withClient(primary.url, async (client) => {
    const follower = `select from pg_stat_replication where application_name = '${name}'`;
    await waitForRow(client, `${follower} and state = 'streaming'`);
    if (!synchronous) return;
    await client.query(`alter system set synchronous_standby_names = '${name}'`);
    await client.query('select pg_reload_conf()');
    await waitForRow(client, `${follower} and sync_state = 'sync'`);
  });
  const promote = () =>
    withClient(server.url, async (client) => {
      await client.query('select pg_promote(wait => false)');
      await waitForRow(client, `select where current_setting('transaction_read_only') = 'off'`);
    });
  return Object.assign(server, { promote });
}

/** Copies the files of a running server as `pg_basebackup` does, which the embedded PostgreSQL lacks. */
async function copyDataFolder(primary: PrivatePostgres, { folder, user }: PostgresCluster): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  await withClient(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', fast => true)`);
    // A running server may delete a file while it is copied; another attempt copies the remaining files.
    const copy = () => promisify(execFile)('cp', ['-a', `${primary.cluster.folder}/.`, folder]);
    await copy().catch(copy).catch(copy);
    const { rows } = await client.query('select labelfile from pg_backup_stop(wait_for_archive => false)');
    writePrivately(join(folder, 'backup_label'), rows[0]?.labelfile, user);
  });
  // These files belong to the primary: its lock, and its setting for synchronous standbys.
  for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(join(folder, file));
  for (const file of ['postgresql.auto.conf', 'standby.signal']) writePrivately(join(folder, file), '', user);
}

/** Repeats a query until it returns a row. */
const waitForRow = (client: pg.Client, question: string): Promise<boolean> =>
  vi.waitUntil(
    () =>
      client.query(question).then(
        ({ rowCount }) => rowCount !== 0,
        (error: unknown) => {
          if (error instanceof pg.DatabaseError && error.code === CONFLICT_WITH_RECOVERY) return false;
          throw error;
        },
      ),
    PATIENTLY,
  );

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
