import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPersistence } from '@petstore/persistence';
import {
  PATIENTLY,
  type PostgresStandby,
  type PrivatePostgres,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
} from '@petstore/testing';
import { vi } from 'vitest';
import { ROOT } from '../../process/support/documentation.ts';
import { prepareServerDatabase } from '../../support/template-database.ts';
import { startPgpool } from './pgpool.ts';
import { query } from './query.ts';

/**
 * As the comments of `deploy/pgpool.conf` say. The time zone is one that no session of the service may have, so that a
 * session which was not set at the standby is noticed.
 */
const PRIMARY = {
  ...REPLICATION_PARAMETERS,
  synchronous_commit: 'remote_apply',
  wal_sender_timeout: '10s',
  max_connections: 200,
  timezone: 'Asia/Kolkata',
} as const;
const STANDBY = { parameters: { hot_standby_feedback: 'on', max_standby_streaming_delay: '1s' } } as const;

/** Pgpool-II, with the configuration that `deploy` holds, before a primary and the standby that it reads from. */
export interface StandbyReads extends AsyncDisposable {
  /** The address of Pgpool-II. */
  readonly url: string;
  readonly primary: PrivatePostgres;
  /** Read from, and waited for by each commit. */
  readonly reader: PostgresStandby;
  /** Waited for by commits while {@link reader} is away. */
  readonly spare: PostgresStandby;
}

/** @param orderCount how many orders there are before */
export async function startStandbyReads(orderCount: number): Promise<StandbyReads> {
  await using resources = new AsyncDisposableStack();
  const primary = resources.use(await startPostgresServer(PRIMARY));
  await prepareServerDatabase(primary.url);
  {
    await using persistence = openPersistence({ databaseUrl: primary.url });
    await persistence.orders.generateOrders({ count: orderCount, seed: 1, now: new Date() });
  }
  const reader = resources.use(await startPostgresStandby(primary, STANDBY));
  const spare = resources.use(await startPostgresStandby(primary, STANDBY));
  const [readerName, spareName] = [reader, spare].map(({ port }) => `standby_${port}`);
  await query(primary.url, `alter system set synchronous_standby_names = 'FIRST 1 (${readerName}, ${spareName})'`);
  await query(primary.url, 'select pg_reload_conf()');
  await vi.waitUntil(async () => (await syncStateOf(primary, reader)) === 'sync', PATIENTLY);
  const pgpool = resources.use(
    await startPgpool(
      configurationWith({
        "backend_hostname0 = '10.0.0.21'\nbackend_port0 = 5432": `backend_hostname0 = '127.0.0.1'\nbackend_port0 = ${primary.port}`,
        "backend_hostname1 = '10.0.0.22'\nbackend_port1 = 5432": `backend_hostname1 = '127.0.0.1'\nbackend_port1 = ${reader.port}`,
        "backend_application_name1 = 'reader'": `backend_application_name1 = '${readerName}'`,
        "sr_check_user = 'pgpool'": `sr_check_user = '${new URL(primary.url).username}'`,
        "health_check_user = 'pgpool'": `health_check_user = '${new URL(primary.url).username}'`,
      }),
      primary.url,
    ),
  );
  const owned = resources.move();
  return { url: pgpool.url, primary, reader, spare, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The file of `deploy` with what an operator puts in. @throws Error if it lacks a text that is to be replaced */
function configurationWith(replacements: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(ROOT, 'deploy/pgpool.conf'), 'utf8');
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/pgpool.conf does not hold "${from}"`);
    return result.replace(from, to);
  }, text);
}

/** Whether commits wait for a standby: `sync`, or `potential` if another one is waited for. */
async function syncStateOf(primary: PrivatePostgres, standby: PostgresStandby): Promise<unknown> {
  const [row] = await query(primary.url, 'select sync_state from pg_stat_replication where application_name = $1', [
    `standby_${standby.port}`,
  ]);
  return row?.['sync_state'];
}

/** The rows of the table of orders that statements have read at a server since it started. */
export async function countRowsRead({ url }: PrivatePostgres): Promise<number> {
  const [row] = await query(
    url,
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as count from pg_stat_user_tables where relname = 'orders'`,
  );
  return Number(row?.['count']);
}

/** Whether Pgpool-II leads new connections to the standby. */
export async function isReadFrom({ url, reader }: StandbyReads): Promise<boolean> {
  const nodes = await query(url, 'show pool_nodes');
  return nodes.some(({ port, status }) => port === String(reader.port) && status === 'up');
}
