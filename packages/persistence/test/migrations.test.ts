import { randomBytes, randomUUID } from 'node:crypto';
import {
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  orderId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { createTestDatabase, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseServers } from '../src/connections/database-servers.ts';
import { openPersistence, SchemaError } from '../src/index.ts';
import { MIGRATION_NAMES, type MigrationName } from '../src/schema/migration-names.ts';
import { runMigrations } from '../src/schema/run-migrations.ts';
import { NewerDatabaseError, toSchemaError } from '../src/schema/schema-error.ts';
import { importOrders, NOW, newOrder, pendingOrder, statementsIn, useTestStore } from './support.ts';

describe('an empty database', () => {
  test('has everything pending, and nothing after migrating', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    const { migrations, orders } = persistence;
    expect(await migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES, newer: [] });
    expect(await migrations.migrate()).toEqual(MIGRATION_NAMES);
    expect(await migrations.status()).toEqual({ applied: MIGRATION_NAMES, pending: [], newer: [] });
    expect(await migrations.migrate()).toEqual([]);
    expect(await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).toMatchObject({ id: 1n });
  });

  test('is not touched by looking at it', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    await persistence.migrations.status();
    await expect(persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).rejects.toMatchObject({
      name: 'StorageUnavailableError',
    });
    expect(await persistence.migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES, newer: [] });
  });

  test('is migrated once when many instances start at once', async () => {
    await using database = await createTestDatabase();
    const instances = Array.from({ length: 12 }, () => openPersistence({ databaseUrl: database.url }));
    await Promise.all(instances.map(({ migrations }) => migrations.migrate()));
    const statuses = await Promise.all(instances.map(({ migrations }) => migrations.status()));
    for (const status of statuses) expect(status).toEqual({ applied: MIGRATION_NAMES, pending: [], newer: [] });
    await Promise.all(instances.map((instance) => instance.close()));
  });

  test('is brought up to date, or only looked at where it must not be changed', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    const { migrations } = persistence;
    const refusal = migrations.prepare({ mayMigrate: false });
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toThrow(
      'the database lacks migrations (0001-initial-schema, 0002-orders-of-a-pet, 0003-temporary-plans, 0004-events), and MIGRATE is off; set MIGRATE=on to apply them',
    );
    expect(await migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES, newer: [] });
    expect(await migrations.prepare({ mayMigrate: true })).toEqual(MIGRATION_NAMES);
    expect(await migrations.prepare({ mayMigrate: false })).toEqual([]);
  });

  test('stays as it was when a migration fails', async () => {
    await using database = await createTestDatabase();
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query('create table api_key_secrets (of_another_program text)'); // the last table to be made
    await using persistence = openPersistence({ databaseUrl: database.url });
    await expect(persistence.migrations.migrate()).rejects.toThrow('already exists');
    const { rows } = await client.query(`select from pg_class where relname = 'orders'`);
    expect(rows).toEqual([]);
    expect((await persistence.migrations.status()).applied).toEqual([]);
    await client.query('drop table api_key_secrets');
    await client.end();
    expect(await persistence.migrations.migrate()).toEqual(MIGRATION_NAMES);
  });
});

describe('a database that cannot be migrated says why in one line', () => {
  async function expectRefusal(databaseUrl: string, message: string): Promise<void> {
    await using persistence = openPersistence({ databaseUrl });
    const refusal = persistence.migrations.migrate();
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toMatchObject({ message, cause: expect.any(Error) });
  }

  test('because our role may not make tables', async () => {
    await using database = await createTestDatabase();
    await using role = await createRole(database.url);
    await expectRefusal(role.url, 'the database cannot be migrated: permission denied for schema public');
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
      'which migrations the database has cannot be read: permission denied for table schema_migrations; grant select on it',
    );
  });

  test('because another program has a table of that name', async () => {
    await using database = await createTestDatabase();
    await query(database.url, 'create table orders (of_another_program text)');
    await expectRefusal(database.url, 'the database cannot be migrated: relation "orders" already exists');
  });

  test('because another program keeps its migrations under that name', async () => {
    await using database = await createTestDatabase();
    await query(database.url, 'create table schema_migrations (version bigint)');
    await expectRefusal(database.url, 'which migrations the database has cannot be read: column "name" does not exist');
  });
});

test('a defect of ours is no word of the database, and keeps its stack', () => {
  const defect = new Error('while migrating', { cause: new TypeError('not a function') });
  expect(toSchemaError(defect)).toBe(defect);
});

describe('a database of the release before temporary plans', () => {
  test('keeps its keys, which that release goes on to read and change', async () => {
    await using database = await createTestDatabase();
    await migrateTo(database.url, '0002-orders-of-a-pet');
    const id = generateApiKeyId(randomBytes);
    const secretHash = hashApiKeyText(generateApiKeyText('live', id, randomBytes));
    await using client = await openClient(database.url);
    await client.query(
      `insert into api_keys (id, name, kind, plan, per_minute, per_day, created_at)
       values ($1, 'before', 'internal', 'enterprise', 5, 9, $2)`,
      [id, NOW],
    );
    await client.query('insert into api_key_secrets values ($1, $2, $3)', [Buffer.from(secretHash), id, NOW]);
    await using former = await prepareFormerRelease(database.url);
    const before = await former.findSecret(secretHash);
    expect(before).toMatchObject({ plan: 'enterprise', per_minute: 5, per_day: 9 });

    await using persistence = openPersistence({ databaseUrl: database.url });
    const { keyAdministration, migrations } = persistence;
    expect(await migrations.migrate()).toEqual(['0003-temporary-plans', '0004-events']);
    const lastingPlan = { name: 'enterprise', limits: { perMinute: 5, perDay: 9 } } as const;
    const key = { id, name: 'before', kind: 'internal', lastingPlan, createdAt: NOW } as const;
    expect(await persistence.apiKeys.findSecret(secretHash)).toEqual({ key });

    const temporaryPlan = { plan: { name: 'business' }, until: new Date(NOW.getTime() + 1) } as const;
    await keyAdministration.setTemporaryPlan(id, temporaryPlan, NOW);
    expect(await former.findSecret(secretHash)).toEqual(before);
    await former.setPlan(id, 'pro');
    expect(await persistence.apiKeys.findSecret(secretHash)).toEqual({
      key: { ...key, lastingPlan: { name: 'pro' }, temporaryPlan },
    });
  });
});

describe('a database that is up to date', () => {
  const store = useTestStore();

  test('costs one query', async () => {
    await Promise.all([store.persistence.migrations.status(), store.persistence.migrations.status()]); // connected
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    expect(await store.persistence.migrations.migrate()).toEqual([]);
    expect(statementsIn(sent)).toHaveLength(1);
    sent.mockRestore();
  });

  test.each([
    ['does not say which releases go on', null],
    ['says that only its own release goes on', '9999-from-the-future'],
    ['says that a release after this one goes on', '9998-also-from-the-future'],
  ])('is refused once a newer program has migrated it and %s', async (_, oldestRelease) => {
    await migrateAsNewer(oldestRelease);
    const { migrations } = store.persistence;
    for (const call of [migrations.status, migrations.migrate, () => migrations.prepare({ mayMigrate: false })]) {
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
    expect(await migrations.prepare({ mayMigrate: false })).toEqual([]);
  });

  test('names for each migration the oldest release that goes on', async () => {
    const { rows } = await store.query('select name, oldest_release from schema_migrations order by id');
    expect(rows).toEqual([
      ['0001-initial-schema', '0001-initial-schema'],
      ['0002-orders-of-a-pet', '0001-initial-schema'],
      ['0003-temporary-plans', '0002-orders-of-a-pet'],
      ['0004-events', '0003-temporary-plans'],
    ]);
  });

  test('works without that column, as an earlier release left it, until something is migrated', async () => {
    await store.query('alter table schema_migrations drop column oldest_release');
    const { migrations } = store.persistence;
    expect(await migrations.status()).toEqual({ applied: MIGRATION_NAMES, pending: [], newer: [] });
    await store.query(`delete from schema_migrations where name = '0002-orders-of-a-pet'`);
    expect(await migrations.migrate()).toEqual(['0002-orders-of-a-pet']);
    expect((await store.query('select from schema_migrations where oldest_release is null')).rows).toEqual([]);
  });

  beforeEach(() => store.query(`delete from schema_migrations where name > '9'`));
  const migrateAsNewer = (oldestRelease: string | null) =>
    store.query('insert into schema_migrations (name, oldest_release) values ($1, $2)', [
      '9999-from-the-future',
      oldestRelease,
    ]);
});

describe('while others use the database', () => {
  const store = useTestStore();
  beforeEach(() => store.clear());
  const cancel = (id: bigint) => store.persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);

  test('an index is built beside a transaction that has written, which holds up no command', async () => {
    await importOrders(store, [1n, 2n, 3n].map(pendingOrder));
    await store.query('drop index orders_pet_id_id_index');
    await store.query(`delete from schema_migrations where name = '0002-orders-of-a-pet'`);
    await using stranger = await openClient(store.url);
    await stranger.query('begin');
    await stranger.query('update orders set quantity = 2 where id = 1');
    const migration = migrateTo(store.url, '0003-temporary-plans');
    await vi.waitFor(async () => expect(await waitingStatements()).toContain('create index concurrently'), PATIENTLY);
    expect(await cancel(2n)).toMatchObject({ applied: true });
    expect(await cancel(3n)).toMatchObject({ applied: true });
    expect(await waitingStatements()).toContain('create index concurrently');
    await stranger.query('commit');
    await migration;
    const valid = `select indisvalid from pg_index where indexrelid = 'orders_pet_id_id_index'::regclass`;
    expect((await store.query(valid)).rows).toEqual([['t']]);
  });

  test('a table that is in use is locked for moments only, until it is free', async () => {
    await using database = await createTestDatabase();
    await migrateTo(database.url, '0002-orders-of-a-pet');
    await using stranger = await openClient(database.url);
    await stranger.query('begin');
    await stranger.query('select from api_keys');
    const given = migrateTo(database.url, '0003-temporary-plans', { lockPatienceMs: 0 });
    await expect(given).rejects.toThrow('the migration 0003-temporary-plans waits: other sessions keep a table locked');
    await expect(given).rejects.toMatchObject({ name: 'StorageUnavailableError' });
    const migration = migrateTo(database.url, '0003-temporary-plans', { lockPatienceMs: 60_000 });
    await using reader = await openClient(database.url);
    for (let i = 0; i < 5; i++) await reader.query(`set statement_timeout = '10s'; select from api_keys`);
    await stranger.query('commit');
    await migration;
  });

  async function waitingStatements(): Promise<string> {
    const { rows } = await store.query(
      `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.flat().join('\n');
  }
});

test('an index that was not finished is built anew', async () => {
  await using database = await createTestDatabase();
  await migrateTo(database.url, '0001-initial-schema');
  await query(database.url, 'create index orders_pet_id_id_index on orders (pet_id)');
  await migrateTo(database.url, '0002-orders-of-a-pet');
  await using client = await openClient(database.url);
  const { rows } = await client.query(`select pg_get_indexdef('orders_pet_id_id_index'::regclass) as definition`);
  expect(rows[0].definition).toContain('(pet_id, id)');
});

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** Applies the migrations of an earlier release, up to its last. */
const migrateTo = (databaseUrl: string, last: MigrationName, options = {}) =>
  runMigrations(new DatabaseServers(databaseUrl), { last, ...options });

/** What the release before temporary plans sent, its look-up prepared on a connection that lives on. */
async function prepareFormerRelease(databaseUrl: string) {
  const client = await openClient(databaseUrl);
  return {
    async findSecret(secretHash: Uint8Array): Promise<unknown> {
      const { rows } = await client.query({
        name: 'find-secret',
        text: `select k.id, k.name, k.kind, k.plan, k.per_minute, k.per_day, k.created_at, k.expires_at, k.revoked_at,
                 k.last_used_at, s.expires_at
               from api_key_secrets s join api_keys k on k.id = s.key_id
               where s.hash = $1`,
        values: [Buffer.from(secretHash)],
      });
      return rows[0];
    },
    async setPlan(id: ApiKeyId, plan: string): Promise<void> {
      await client.query('update api_keys set plan = $2, per_minute = null, per_day = null where id = $1', [id, plan]);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

async function openClient(databaseUrl: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** A role that may connect, and that is all. */
async function createRole(databaseUrl: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const name = `role_${randomUUID().replaceAll('-', '')}`;
  await query(databaseUrl, `create role ${name} login password 'secret'`);
  const url = new URL(databaseUrl);
  Object.assign(url, { username: name, password: 'secret' });
  return { url: url.href, [Symbol.asyncDispose]: () => query(databaseUrl, `drop role ${name}`) };
}
