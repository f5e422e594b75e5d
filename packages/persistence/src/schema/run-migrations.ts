import type { Constructor } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { translatingErrors } from '../storage-error.ts';
import type { MigrationName } from './migration-names.ts';
import { MIGRATION_NAMES } from './migration-names.ts';
import { InitialSchema } from './migrations/0001-initial-schema.ts';
import { OrdersOfAPet } from './migrations/0002-orders-of-a-pet.ts';
import { TemporaryPlans } from './migrations/0003-temporary-plans.ts';
import { createOrm } from './orm.ts';

/** @internal exported for a test */
export const MIGRATIONS = {
  '0001-initial-schema': InitialSchema,
  '0002-orders-of-a-pet': OrdersOfAPet,
  '0003-temporary-plans': TemporaryPlans,
} as const satisfies Record<MigrationName, Constructor<Migration>>;

/** Any number that nothing else in the database locks: the first eight bytes of "petstore" as an integer. */
const ADVISORY_LOCK = '8099007544119226981';

/**
 * Applies what is pending, all of it or nothing. Of several processes at once the first one works and the others wait;
 * they then find nothing left to do.
 */
export async function runMigrations(servers: DatabaseServers): Promise<void> {
  const migrations = MIGRATION_NAMES.map((name) => ({ name, class: MIGRATIONS[name] }));
  const orm = createOrm(servers, { statementTimeoutMs: 0, migrations });
  try {
    await translatingErrors(() =>
      orm.em.fork().transactional(async (em) => {
        await em.execute('select pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
        const transaction = em.getTransactionContext();
        if (transaction === undefined) throw new Error('a migration runs in a transaction');
        await orm.migrator.up({ transaction });
      }),
    );
  } finally {
    await orm.close();
  }
}
