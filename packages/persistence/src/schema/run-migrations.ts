import { setTimeout as sleep } from 'node:timers/promises';
import type { Constructor } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import type { MikroORM } from '@mikro-orm/postgresql';
import { StorageUnavailableError } from '@petstore/domain';
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import type { Database } from '../database/database.ts';
import { codeOf, SQLSTATE } from '../database/errors.ts';
import type { MigrationName } from './migration-names.ts';
import { InitialSchema } from './migrations/0001-initial-schema.ts';
import { withOrm } from './orm.ts';

/**
 * A migration. It takes effect while servers of the previous release still run, so it must not change what they use.
 *
 * A migration that PostgreSQL refuses in a transaction, such as `create index concurrently`, overrides `isTransactional`.
 * Since it may have failed half-way before, it begins by removing the remains.
 */
interface PetstoreMigration {
  readonly class: Constructor<Migration>;
  /**
   * The last migration of the oldest release that works on the migrated schema. The database stores it for releases that do
   * not know this migration.
   */
  readonly oldestCompatibleMigration: MigrationName;
}

/** @internal exported for a test */
export const MIGRATIONS: Readonly<Record<MigrationName, PetstoreMigration>> = {
  '0001-initial-schema': { class: InitialSchema, oldestCompatibleMigration: '0001-initial-schema' },
};

/** How often a waiting process tries to get its turn, in milliseconds. */
const TURN_POLL_MS = 100;

/**
 * How long a migration waits for a lock on a table, in milliseconds. Other statements on the table queue behind it, so the
 * time is short, and those statements run before the migration tries again.
 */
const LOCK_TIMEOUT_MS = 300;
const LOCK_PAUSE_MS = 1_000;

/** How long a migration tries to get its locks, in milliseconds. */
const LOCK_PATIENCE_MS = 10_000;

/** @internal for tests */
interface RunOptions {
  readonly migrations?: Readonly<Record<string, PetstoreMigration>>;
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
  { migrations = MIGRATIONS, lockPatienceMs = LOCK_PATIENCE_MS }: RunOptions = {},
): Promise<void> {
  const list = Object.entries(migrations).map(([name, migration]) => ({ name, ...migration }));
  await withOrm(database, { statementTimeoutMs: 0, schema, migrations: list }, (orm) =>
    inTurn(orm, () => applyPending(orm, list, lockPatienceMs)),
  );
}

/**
 * Runs work while no other process does. A waiting process holds no snapshot, because an index is built concurrently only
 * after all older snapshots have ended.
 */
async function inTurn(orm: MikroORM, work: () => Promise<void>): Promise<void> {
  const attempt = () =>
    orm.em.fork().transactional(async (em) => {
      const rows = await em.execute('select pg_try_advisory_xact_lock(?) as locked', [ADVISORY_LOCKS.migrations]);
      const isLocked: unknown = rows[0]?.['locked'];
      if (isLocked === true) await work();
      return isLocked;
    });
  while ((await attempt()) !== true) await sleep(TURN_POLL_MS);
}

interface NamedMigration extends PetstoreMigration {
  readonly name: string;
}

async function applyPending(
  orm: MikroORM,
  migrations: readonly NamedMigration[],
  lockPatienceMs: number,
): Promise<void> {
  const pending = new Set((await orm.migrator.getPending()).map(({ name }) => name));
  for (const migration of migrations) {
    const { name, class: MigrationClass } = migration;
    if (!pending.has(name)) continue;
    if (!new MigrationClass(orm.em.getDriver(), orm.config).isTransactional()) {
      await recordCompatibility(orm.em.fork(), migration);
      await orm.migrator.up({ migrations: [name] });
      continue;
    }
    await retryingLocks(name, lockPatienceMs, () =>
      orm.em.fork().transactional(async (em) => {
        await em.execute(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        const transaction = em.getTransactionContext();
        if (transaction === undefined) throw new Error('a migration runs in a transaction');
        await orm.migrator.up({ migrations: [name], transaction });
        await recordCompatibility(em, migration);
      }),
    );
  }
}

/** Records which releases may continue, for those that do not know the migration. */
const recordCompatibility = (em: MikroORM['em'], migration: NamedMigration): Promise<unknown> =>
  em.execute('insert into schema_releases (migration, oldest_release) values (?, ?) on conflict do nothing', [
    migration.name,
    migration.oldestCompatibleMigration,
  ]);

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
