import { setTimeout as sleep } from 'node:timers/promises';
import type { Constructor } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/postgresql';
import { StorageUnavailableError } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { translatingErrors } from '../database/storage-error.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE, type MigrationName } from './migration-names.ts';
import { InitialSchema } from './migrations/0001-initial-schema.ts';
import { OrdersOfAPet } from './migrations/0002-orders-of-a-pet.ts';
import { TemporaryPlans } from './migrations/0003-temporary-plans.ts';
import { Events } from './migrations/0004-events.ts';
import { createOrm } from './orm.ts';
import { ConcurrentSchemaChange, type SchemaChange } from './schema-change.ts';

/** @internal exported for a test */
export const MIGRATIONS = {
  '0001-initial-schema': InitialSchema,
  '0002-orders-of-a-pet': OrdersOfAPet,
  '0003-temporary-plans': TemporaryPlans,
  '0004-events': Events,
} as const satisfies Record<MigrationName, Constructor<SchemaChange>>;

/** Any number that nothing else in the database locks: the first eight bytes of "petstore" as an integer. */
const ADVISORY_LOCK = '8099007544119226981';

/** How often a process that waits checks whether another one has migrated. */
const TURN_POLL_MS = 100;

/**
 * How long a migration waits for a lock on a table. Other statements on the table queue behind it, so it is short, and
 * they have their turn before it tries again.
 */
const LOCK_TIMEOUT_MS = 300;
const LOCK_PAUSE_MS = 1_000;

/** How long a migration tries, in milliseconds. */
const LOCK_PATIENCE_MS = 10_000;

/** @internal for tests */
interface RunOptions {
  /** The last migration of an earlier release. */
  readonly last?: MigrationName;
  readonly lockPatienceMs?: number;
}

/**
 * Applies what is pending, one migration after the other, each of them whole or not at all. Of several processes at once
 * the first one works and the others wait; they then find nothing left to do.
 *
 * @throws StorageUnavailableError where others keep a table locked, too
 */
export async function runMigrations(
  servers: DatabaseServers,
  { last = MIGRATION_NAMES.at(-1), lockPatienceMs = LOCK_PATIENCE_MS }: RunOptions = {},
): Promise<void> {
  const orm = await createOrm(servers, {
    statementTimeoutMs: 0,
    migrations: MIGRATION_NAMES.map((name) => ({ name, class: MIGRATIONS[name] })),
  });
  try {
    await translatingErrors(() => inTurn(orm, () => applyPending(orm, last, lockPatienceMs)));
  } finally {
    await orm.close();
  }
}

/**
 * Runs work while no other process does. A process that waits holds no snapshot meanwhile, since an index is built
 * concurrently only when all older snapshots are gone.
 */
async function inTurn(orm: MikroORM, work: () => Promise<void>): Promise<void> {
  const attempt = () =>
    orm.em.fork().transactional(async (em) => {
      const rows = await em.execute('select pg_try_advisory_xact_lock(?) as locked', [ADVISORY_LOCK]);
      const isLocked: unknown = rows[0]?.['locked'];
      if (isLocked === true) await work();
      return isLocked;
    });
  while ((await attempt()) !== true) await sleep(TURN_POLL_MS);
}

async function applyPending(orm: MikroORM, last: MigrationName | undefined, lockPatienceMs: number): Promise<void> {
  const pending = new Set((await orm.migrator.getPending()).map(({ name }) => name));
  for (const name of MIGRATION_NAMES) {
    if (!pending.has(name) || (last !== undefined && name > last)) continue;
    const isConcurrent = MIGRATIONS[name].prototype instanceof ConcurrentSchemaChange;
    if (isConcurrent) await orm.migrator.up({ migrations: [name] });
    await retryingLocks(name, lockPatienceMs, () =>
      orm.em.fork().transactional(async (em) => {
        await em.execute(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        const transaction = em.getTransactionContext();
        if (transaction === undefined) throw new Error('a migration runs in a transaction');
        if (!isConcurrent) await orm.migrator.up({ migrations: [name], transaction });
        await recordOldestReleases(em, orm);
      }),
    );
  }
}

/** Says in the database which releases may go on, for those that do not know these migrations. */
async function recordOldestReleases(em: MikroORM['em'], orm: MikroORM): Promise<void> {
  const columns = await em.execute(
    `select from pg_attribute where attrelid = '${MIGRATIONS_TABLE}'::regclass and attname = 'oldest_release'`,
  );
  if (columns.length === 0) await em.execute(`alter table ${MIGRATIONS_TABLE} add column oldest_release text`);
  for (const name of MIGRATION_NAMES) {
    const { oldestRelease } = new MIGRATIONS[name](orm.em.getDriver(), orm.config);
    const update = `update ${MIGRATIONS_TABLE} set oldest_release = ? where name = ? and oldest_release is null`;
    await em.execute(update, [oldestRelease, name]);
  }
}

/** @throws StorageUnavailableError where a lock cannot be acquired for so long */
async function retryingLocks(name: MigrationName, patienceMs: number, work: () => Promise<void>): Promise<void> {
  for (const beginMs = performance.now(); ; await sleep(LOCK_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE)) throw error;
      if (performance.now() - beginMs < patienceMs) continue;
      throw new StorageUnavailableError(`the migration ${name} waits: other sessions keep a table locked`);
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03';
