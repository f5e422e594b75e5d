import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findLastingPort, type PrivatePostgres, runPrivatePostgres } from './private-server.ts';
import type { PostgresCluster, PostgresParameters } from './servers/postgres-cluster.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

/** The SQLSTATE `serialization_failure`, which that conflict has. */
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
  const port = fixedPort ?? (await findLastingPort());
  const name = `standby_${port}`;
  const cluster: PostgresCluster = {
    ...primary.cluster,
    folder: join(folder.path, 'data'),
    logFile: join(folder.path, 'postgres.log'),
  };
  await copyDataFolder(primary, cluster);
  const source = new URL(primary.url);
  const all = {
    ...primary.parameters,
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${source.username} password=${source.password} application_name=${name}`,
    wal_retrieve_retry_interval: '100ms', // how soon it is back when the primary is
    ...parameters,
  };
  const url = new URL(primary.url);
  url.port = String(port);
  const server = await runPrivatePostgres({ cluster, parameters: all, port, url: url.href, folder });
  await withClient(primary.url, async (client) => {
    await waitFor(client, `select from pg_stat_replication where application_name = '${name}' and state = 'streaming'`);
    if (!synchronous) return;
    await client.query(`alter system set synchronous_standby_names = '${name}'`);
    await client.query('select pg_reload_conf()');
    await waitFor(client, `select from pg_stat_replication where application_name = '${name}' and sync_state = 'sync'`);
  });
  return Object.assign(server, {
    promote: () =>
      withClient(server.url, async (client) => {
        await waitFor(client, 'select case when pg_is_in_recovery() then pg_promote(wait => false) end');
        await waitFor(
          client,
          `select where not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'`,
        );
      }),
  });
}

/** Copies the files of a running server as `pg_basebackup` does, which the embedded PostgreSQL is without. */
async function copyDataFolder(primary: PrivatePostgres, copy: PostgresCluster): Promise<void> {
  mkdirSync(copy.folder, { mode: 0o700 });
  const { user } = copy;
  if (user !== undefined) chownSync(copy.folder, user.uid, user.gid);
  const write = (file: string, text: string) => {
    const path = join(copy.folder, file);
    writeFileSync(path, text, { mode: 0o600 });
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  };
  await withClient(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', fast => true)`);
    await copyFiles(primary.cluster.folder, copy.folder);
    const { rows } = await client.query<{ labelfile: string; spcmapfile: string }>(
      'select labelfile, spcmapfile from pg_backup_stop(wait_for_archive => false)',
    );
    write('backup_label', rows[0]?.labelfile ?? '');
  });
  // Those of the primary: its lock, and its setting for synchronous standbys.
  for (const file of ['postmaster.pid', 'postmaster.opts', 'postgresql.auto.conf']) rmSync(join(copy.folder, file));
  write('postgresql.auto.conf', '');
  write('standby.signal', '');
}

/** A file of a running server may go away while it is read; what is there in the next attempt is enough. */
async function copyFiles(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await promisify(execFile)('cp', ['-a', `${from}/.`, to]);
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

async function waitFor(client: pg.Client, question: string): Promise<void> {
  while ((await countRows(client, question)) === 0) await sleep(20);
}

/** A standby cancels a statement that is in the way of what it replays: such a one counts none. */
async function countRows(client: pg.Client, question: string): Promise<number | null> {
  try {
    return (await client.query(question)).rowCount;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === CONFLICT_WITH_RECOVERY) return 0;
    throw error;
  }
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
