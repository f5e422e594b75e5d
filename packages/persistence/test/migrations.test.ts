import { randomUUID } from 'node:crypto';
import type { Constructor } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';
import { orderId, SERVICE_ORIGIN } from '@petstore/domain';
import { createTestDatabase, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ADVISORY_LOCKS } from '../src/advisory-locks.ts';
import { Database } from '../src/database/database.ts';
import { openPersistence, SchemaError } from '../src/index.ts';
import { MIGRATION_NAMES, MIGRATIONS } from '../src/schema/migration-list.ts';
import { runMigrations } from '../src/schema/run-migrations.ts';
import { NewerDatabaseError, toSchemaError } from '../src/schema/schema-error.ts';
import { importOrders, NOW, newOrder, pendingOrder, runSql, useTestStore } from './support.ts';

const UP_TO_DATE = { applied: MIGRATION_NAMES, pending: [], newer: [] };
const EMPTY = { applied: [], pending: MIGRATION_NAMES, newer: [] };

describe('an empty database', () => {
  test('has everything pending, and nothing after migrating', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    const { migrations, orders } = persistence;
    expect(await migrations.status()).toEqual(EMPTY);
    expect(await migrations.migrate()).toEqual(MIGRATION_NAMES);
    expect(await migrations.status()).toEqual(UP_TO_DATE);
    expect(await migrations.migrate()).toEqual([]);
    await migrations.assertMigrated();
    expect(await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).toMatchObject({ order: { id: 1n } });
  });

  test('is not touched by looking at it', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    await persistence.migrations.status();
    await expect(persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).rejects.toMatchObject({
      name: 'StorageUnavailableError',
    });
    const refusal = persistence.migrations.assertMigrated();
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toThrow(
      `the database lacks migrations (${MIGRATION_NAMES.join(', ')}), and MIGRATE is off; set MIGRATE=on to apply them`,
    );
    expect(await persistence.migrations.status()).toEqual(EMPTY);
  });

  test('is migrated once when many instances start at once', async () => {
    await using database = await createTestDatabase();
    const instances = Array.from({ length: 5 }, () => openPersistence({ databaseUrl: database.url }));
    await Promise.all(instances.map(({ migrations }) => migrations.migrate()));
    const statuses = await Promise.all(instances.map(({ migrations }) => migrations.status()));
    for (const status of statuses) expect(status).toEqual(UP_TO_DATE);
    await Promise.all(instances.map((instance) => instance.close()));
  });

  test('stays as it was when a migration fails', async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, 'create table key_events (of_another_program text)'); // one of the last tables to be made
    await using persistence = openPersistence({ databaseUrl: database.url });
    await expect(persistence.migrations.migrate()).rejects.toThrow('already exists');
    await expect(runSql(database.url, 'select from orders')).rejects.toThrow('does not exist');
    expect(await persistence.migrations.status()).toEqual(EMPTY);
    await runSql(database.url, 'drop table key_events');
    expect(await persistence.migrations.migrate()).toEqual(MIGRATION_NAMES);
  });
});

describe('a database that cannot be migrated says why in one line', () => {
  async function expectRefusal(databaseUrl: string, message: string | RegExp): Promise<void> {
    await using persistence = openPersistence({ databaseUrl });
    const refusal = persistence.migrations.migrate();
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toThrow(message);
  }

  test('because our role may not make tables', async () => {
    await using database = await createTestDatabase();
    await using role = await createRole(database.url);
    await expectRefusal(role.url, /permission denied for schema public; it needs a role like petstore_owner/);
  });

  test('because our role may use no schema of its search_path', async () => {
    await using database = await createTestDatabase();
    await using role = await createRole(database.url);
    await runSql(database.url, 'revoke all on schema public from public');
    const message =
      'there is no schema for the tables: the role has no permission to use any schema in its search_path';
    await expectRefusal(role.url, message);
  });

  test('because our role may not read what was applied', async () => {
    await using database = await createTestDatabase();
    {
      await using persistence = openPersistence({ databaseUrl: database.url });
      await persistence.migrations.migrate();
    }
    await using role = await createRole(database.url);
    await expectRefusal(
      role.url,
      'the applied migrations cannot be read: permission denied for table schema_migrations; grant select on it',
    );
  });

  test.each([
    [
      'has a table of that name',
      'orders',
      /relation "orders" already exists; give the service a database, or a schema in search_path, of its own$/,
    ],
    [
      'keeps its migrations under that name',
      'schema_migrations',
      /^the database cannot be migrated: column \S+ does not exist$/,
    ],
  ])('because another program %s', async (_, table, message) => {
    await using database = await createTestDatabase();
    await runSql(database.url, `create table ${table} (of_another_program text)`);
    await expectRefusal(database.url, message);
  });
});

test('a defect of ours is no word of the database, and keeps its stack', () => {
  const defect = new Error('while migrating', { cause: new TypeError('not a function') });
  expect(toSchemaError(defect, 'migrate')).toBe(defect);
});

test('a role with a schema of its own has its tables there, and needs no right on another', async () => {
  await using database = await createTestDatabase();
  await using role = await createRole(database.url);
  await runSql(
    database.url,
    `revoke all on schema public from public;
     create table schema_migrations (version bigint);
     create table orders (of_another_program text);
     create schema shop authorization ${role.name};
     alter role ${role.name} set search_path = shop, public;
     alter role ${role.name} set quote_all_identifiers = on`,
  );
  await using persistence = openPersistence({ databaseUrl: role.url });
  const { keyAdministration, migrations, orders } = persistence;
  expect(await migrations.status()).toEqual(EMPTY);
  expect(await migrations.migrate()).toEqual(MIGRATION_NAMES);
  expect(await migrations.status()).toEqual(UP_TO_DATE);
  expect(await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).toMatchObject({ order: { id: 1n } });
  expect(await keyAdministration.listKeys()).toEqual([]);
});

describe('a database that is up to date', () => {
  const store = useTestStore();

  test.each([
    ['does not say which releases go on', undefined],
    ['says that only its own release goes on', '9999-from-the-future'],
    ['says that a release after this one goes on', '9998-also-from-the-future'],
  ])('is refused once a newer program has migrated it and %s', async (_, oldestCompatibleMigration) => {
    await migrateAsNewer(oldestCompatibleMigration);
    const { migrations } = store.persistence;
    for (const call of [migrations.status, migrations.migrate, migrations.assertMigrated]) {
      const refusal = call();
      await expect(refusal).rejects.toThrow(NewerDatabaseError);
      await expect(refusal).rejects.toMatchObject({ unknownMigrations: ['9999-from-the-future'] });
    }
  });

  test.each(MIGRATION_NAMES)('is used on once a newer program says that releases from %s on may', async (release) => {
    await migrateAsNewer(release);
    const { migrations } = store.persistence;
    const newer = ['9999-from-the-future'];
    expect(await migrations.status()).toEqual({ applied: [...MIGRATION_NAMES, ...newer], pending: [], newer });
    expect(await migrations.migrate()).toEqual([]);
    await migrations.assertMigrated();
  });

  beforeEach(() =>
    store.query(`delete from schema_migrations where name > '9'; delete from schema_releases where migration > '9'`),
  );
  async function migrateAsNewer(oldestCompatibleMigration: string | undefined): Promise<void> {
    const name = '9999-from-the-future';
    await store.query('insert into schema_migrations (name) values ($1)', [name]);
    if (oldestCompatibleMigration !== undefined) {
      await store.query('insert into schema_releases (migration, oldest_release) values ($1, $2)', [
        name,
        oldestCompatibleMigration,
      ]);
    }
  }
});

// Migrations of a release to come: how the next ones are applied.

class NextColumn extends Migration {
  override up(): void {
    this.addSql('alter table api_keys add column note text');
  }
}

class NextIndex extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('drop index concurrently if exists orders_status_index');
    this.addSql('create index concurrently orders_status_index on orders (status)');
  }
}

test('a process that waits for its turn is told who has it', async () => {
  await using database = await createTestDatabase();
  await using holder = await openClient(`${database.url}?application_name=holder`);
  await holder.query(`select pg_advisory_lock(${ADVISORY_LOCKS.migrations})`);
  await using persistence = openPersistence({ databaseUrl: database.url });
  const told = Promise.withResolvers<string>();
  const migrated = persistence.migrations.migrate(told.resolve);
  const { rows } = await holder.query('select pg_backend_pid() as pid');
  expect(await told.promise).toMatch(
    new RegExp(
      `^process ${rows[0].pid} of PostgreSQL, for "holder" at (127\\.0\\.0\\.1|::1|a socket), connected since \\d{4}-`,
    ),
  );
  await holder.query(`select pg_advisory_unlock(${ADVISORY_LOCKS.migrations})`);
  expect(await migrated).toEqual(MIGRATION_NAMES);
});

describe('the next migration', () => {
  const store = useTestStore();
  beforeEach(() => store.clear());
  const cancel = (id: bigint) => store.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
  const run = async (name: string, migration: Constructor<Migration>, options = {}) => {
    const database = new Database({ databaseUrl: store.url });
    const next = { load: async () => migration, oldestCompatibleMigration: '0001-initial-schema' } as const;
    await runMigrations(database, 'public', { migrations: { ...MIGRATIONS, [name]: next }, ...options }).finally(() =>
      database.close(),
    );
  };

  test('builds an index beside a transaction that has written, which holds up no command', async () => {
    await importOrders(store, [1n, 2n, 3n].map(pendingOrder));
    await store.query('create index orders_status_index on orders (quantity)'); // what a failed attempt left
    await using stranger = await openClient(store.url);
    await stranger.query('begin');
    await stranger.query('update orders set quantity = 2 where id = 1');
    const migration = run('0002-index', NextIndex);
    await vi.waitFor(async () => expect(await waitingStatements()).toContain('index concurrently'), PATIENTLY);
    expect(await cancel(2n)).toMatchObject({ applied: true });
    expect(await cancel(3n)).toMatchObject({ applied: true });
    expect(await waitingStatements()).toContain('index concurrently');
    await stranger.query('commit');
    await migration;
    const made = await store.query(`select indisvalid, pg_get_indexdef(indexrelid) like '%(status)'
      from pg_index where indexrelid = 'orders_status_index'::regclass`);
    expect(made.rows).toEqual([['t', 't']]);
    const oldest = await store.query(`select oldest_release from schema_releases where migration = '0002-index'`);
    expect(oldest.rows).toEqual([['0001-initial-schema']]);
  });

  test('locks a table that is in use for moments only, until it is free', async () => {
    await using stranger = await openClient(store.url);
    await stranger.query('begin');
    await stranger.query('select from api_keys');
    const given = run('0003-column', NextColumn, { lockPatienceMs: 0 });
    await expect(given).rejects.toThrow(
      'the migration 0003-column is blocked: another session holds a lock on a table',
    );
    await expect(given).rejects.toMatchObject({ name: 'StorageUnavailableError' });
    const migration = run('0003-column', NextColumn, { lockPatienceMs: 60_000 });
    await using reader = await openClient(store.url);
    for (let i = 0; i < 5; i++) await reader.query(`set statement_timeout = '10s'; select from api_keys`);
    await stranger.query('commit');
    await migration;
    await store.query('select note from api_keys');
  });

  async function waitingStatements(): Promise<string> {
    const { rows } = await store.query(
      `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.flat().join('\n');
  }
});

async function openClient(databaseUrl: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** A role that may connect, and that is all. */
async function createRole(databaseUrl: string) {
  const name = `role_${randomUUID().replaceAll('-', '')}`;
  await runSql(databaseUrl, `create role ${name} login password 'secret'`);
  const url = Object.assign(new URL(databaseUrl), { username: name, password: 'secret' });
  return {
    name,
    url: url.href,
    [Symbol.asyncDispose]: () => runSql(databaseUrl, `drop owned by ${name} cascade; drop role ${name}`),
  };
}

test('a migration names one before it as the oldest that it is compatible with, unless it is the first', () => {
  for (const [index, [name, { oldestCompatibleMigration }]] of Object.entries(MIGRATIONS).entries()) {
    const oldest = MIGRATION_NAMES.indexOf(oldestCompatibleMigration);
    expect(oldest, name).toBeGreaterThanOrEqual(0);
    expect(oldest, name).toBeLessThanOrEqual(Math.max(0, index - 1));
  }
});
