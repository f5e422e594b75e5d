import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { vi } from 'vitest';
import { findFreePort } from './free-port.ts';
import { PATIENTLY } from './patiently.ts';
import { type PrivatePostgres, runPrivatePostgres } from './private-server.ts';
import { writePrivately } from './server-process.ts';
import type { PostgresCluster, PostgresParameters } from './server-programs.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

/** The SQLSTATE `serialization_failure`: a standby cancels a statement that is in the way of what it replays. */
const CONFLICT_WITH_RECOVERY = '40001';

/** What `startPostgresServer` has to be given for a server that standbys follow. */
export const REPLICATION_PARAMETERS = {
  wal_level: 'replica',
  max_wal_senders: 10,
  wal_keep_size: '1GB',
} as const satisfies PostgresParameters;

export interface StandbyOptions {
  /** Whether the primary acknowledges a commit only when the standby has it on its disk, too. @default false */
  readonly synchronous?: boolean;
  /** Parameters of the standby that differ from the primary's. */
  readonly parameters?: PostgresParameters;
  /** Where it listens, such as where a former primary did. @default a free one */
  readonly port?: number;
}

/** A server that follows another one, and can be read from. */
export interface PostgresStandby extends PrivatePostgres {
  /** Makes it a primary, and is done when it takes writes. The former one should have ended before. */
  promote(): Promise<void>;
}

/**
 * Starts a server that follows a running one by streaming replication, and is done when it does. It has the same
 * databases, users and passwords. It takes one to two seconds.
 *
 * @param primary was started with {@link REPLICATION_PARAMETERS}, or is a standby that was promoted
 */
export async function startPostgresStandby(
  primary: PrivatePostgres,
  { synchronous = false, parameters = {}, port: fixedPort }: StandbyOptions = {},
): Promise<PostgresStandby> {
  const folder = createTemporaryFolder();
  const port = fixedPort ?? (await findFreePort());
  const name = `standby_${port}`;
  const cluster: PostgresCluster = { ...primary.cluster, folder: join(folder.path, 'data') };
  await copyDataFolder(primary, cluster);
  const { username, password } = new URL(primary.url);
  const all = {
    ...primary.parameters,
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${username} password=${password} application_name=${name}`,
    wal_retrieve_retry_interval: '100ms', // how soon it is back when the primary is
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

/** Copies the files of a running server as `pg_basebackup` does, which the embedded PostgreSQL is without. */
async function copyDataFolder(primary: PrivatePostgres, { folder, user }: PostgresCluster): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  await withClient(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', fast => true)`);
    // A file of a running server may go away while it is read; what is there in another attempt is enough.
    const copy = () => promisify(execFile)('cp', ['-a', `${primary.cluster.folder}/.`, folder]);
    await copy().catch(copy).catch(copy);
    const { rows } = await client.query('select labelfile from pg_backup_stop(wait_for_archive => false)');
    writePrivately(join(folder, 'backup_label'), rows[0]?.labelfile, user);
  });
  // Those of the primary: its lock, and its setting for synchronous standbys.
  for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(join(folder, file));
  for (const file of ['postgresql.auto.conf', 'standby.signal']) writePrivately(join(folder, file), '', user);
}

/** Asks until there is a row. */
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
