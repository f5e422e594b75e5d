import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';
import { ADVISORY_LOCKS, findHolder } from '../advisory-locks.ts';
import type { Database } from '../database/database.ts';
import { codeOf, SQLSTATE } from '../database/errors.ts';
import { MIGRATIONS, type MigrationEntry } from './migration-list.ts';
import { createOrm, onConnection } from './orm.ts';

/** How often a waiting process tries to get its turn, in milliseconds. */
const TURN_POLL_MS = 100;

/** How often a waiting process is told who has the turn, in milliseconds. */
const TURN_NOTICE_MS = 2_000;

/**
 * How long a migration waits for a lock on a table, in milliseconds. Other statements on the table queue behind it, so the
 * time is short, and those statements run before the migration tries again.
 */
const LOCK_TIMEOUT_MS = 300;
const LOCK_PAUSE_MS = 1_000;

/** How long a migration tries to get its locks, in milliseconds. */
const LOCK_PATIENCE_MS = 10_000;

interface RunOptions {
  /** Called with a description of the process that has the turn, every two seconds of the wait for it. */
  readonly onWait?: ((holder: string) => void) | undefined;
  /** @internal for tests, as the next one */
  readonly migrations?: Readonly<Record<string, MigrationEntry>>;
  readonly lockPatienceMs?: number;
}

/**
 * Applies pending migrations one by one, each of them whole or not at all. Of several concurrent processes, the first does
 * the work and the others wait; they then find nothing pending.
 *
 * @param schema the schema of the tables
 * @throws StorageUnavailableError also if others keep a table locked
 */
export async function runMigrations(
  database: Database,
  schema: string,
  { onWait, migrations = MIGRATIONS, lockPatienceMs = LOCK_PATIENCE_MS }: RunOptions = {},
): Promise<void> {
  await database.withLongSession((client) =>
    inTurn(client, onWait, async () => {
      const list = await Promise.all(
        Object.entries(migrations).map(async ([name, entry]) => ({
          name,
          class: await recorded(name, entry),
        })),
      );
      const { migrator } = createOrm({ dbName: client.database ?? '', schema, migrations: list });
      await onConnection(client, async () => {
        for (const { name } of await migrator.getPending()) {
          await retryingLocks(name, lockPatienceMs, async () => void (await migrator.up({ migrations: [name] })));
        }
      });
    }),
  );
}

/**
 * Runs work while no other process does. A waiting process holds no snapshot, because an index is built concurrently only
 * after all older snapshots have ended. The turn of a process that stands still or is gone ends with its session.
 */
async function inTurn(client: pg.Client, onWait: RunOptions['onWait'], work: () => Promise<void>): Promise<void> {
  const lock = [ADVISORY_LOCKS.migrations];
  const tryLock = async () =>
    (await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1::bigint) as locked', lock)).rows[0]
      ?.locked;
  for (let noticeMs = performance.now() + TURN_NOTICE_MS; (await tryLock()) !== true; await sleep(TURN_POLL_MS)) {
    if (performance.now() < noticeMs) continue;
    const holder = await findHolder(client, 'migrations');
    if (holder !== undefined) onWait?.(holder);
    noticeMs = performance.now() + TURN_NOTICE_MS;
  }
  try {
    await work();
  } finally {
    // Otherwise a pooler might keep the session, and the lock with it.
    await client.query('select pg_advisory_unlock($1::bigint)', lock).catch(() => {});
  }
}

/**
 * A migration that also records which releases may continue, for those that do not know it. If it runs in a transaction, it
 * waits for locks no longer than {@link LOCK_TIMEOUT_MS}.
 */
async function recorded(name: string, { load, oldestCompatibleMigration }: MigrationEntry) {
  const MigrationClass = await load();
  const values = [name, oldestCompatibleMigration].map(pg.escapeLiteral).join(', ');
  return class extends MigrationClass {
    override getQueries() {
      return [
        ...(this.isTransactional() ? [`set local lock_timeout = ${LOCK_TIMEOUT_MS}`] : []),
        ...super.getQueries(),
        `insert into schema_releases (migration, oldest_release) values (${values}) on conflict do nothing`,
      ];
    }
  };
}

/** @throws StorageUnavailableError if a lock cannot be acquired within `patienceMs` */
async function retryingLocks(name: string, patienceMs: number, work: () => Promise<void>): Promise<void> {
  for (const beginMs = performance.now(); ; await sleep(LOCK_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== SQLSTATE.lockNotAvailable) throw error;
      if (performance.now() - beginMs < patienceMs) continue;
      throw new StorageUnavailableError(`the migration ${name} is blocked: another session holds a lock on a table`);
    }
  }
}
