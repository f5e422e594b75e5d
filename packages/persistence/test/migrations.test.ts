import { randomBytes, randomUUID } from 'node:crypto';
import { type ApiKeyId, generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { DatabaseServers } from '../src/connections/database-servers.ts';
import { openPersistence, SchemaError } from '../src/index.ts';
import { MIGRATION_NAMES, type MigrationName } from '../src/schema/migration-names.ts';
import { createOrm } from '../src/schema/orm.ts';
import { MIGRATIONS } from '../src/schema/run-migrations.ts';
import { NewerDatabaseError, toSchemaError } from '../src/schema/schema-error.ts';
import { NOW, newOrder, useTestStore } from './support.ts';

describe('an empty database', () => {
  test('has everything pending, and nothing after migrating', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    const { migrations, orders } = persistence;
    expect(await migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES });
    expect(await migrations.migrate()).toEqual(MIGRATION_NAMES);
    expect(await migrations.status()).toEqual({ applied: MIGRATION_NAMES, pending: [] });
    expect(await migrations.migrate()).toEqual([]);
    expect(await orders.insertOrder(newOrder())).toMatchObject({ id: 1n });
  });

  test('is not touched by looking at it', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    await persistence.migrations.status();
    await expect(persistence.orders.insertOrder(newOrder())).rejects.toMatchObject({ name: 'StorageUnavailableError' });
    expect(await persistence.migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES });
  });

  test('is migrated once when many instances start at once', async () => {
    await using database = await createTestDatabase();
    const instances = Array.from({ length: 12 }, () => openPersistence({ databaseUrl: database.url }));
    await Promise.all(instances.map(({ migrations }) => migrations.migrate()));
    const statuses = await Promise.all(instances.map(({ migrations }) => migrations.status()));
    for (const status of statuses) expect(status).toEqual({ applied: MIGRATION_NAMES, pending: [] });
    await Promise.all(instances.map((instance) => instance.close()));
  });

  test('is brought up to date, or only looked at where it must not be changed', async () => {
    await using database = await createTestDatabase();
    await using persistence = openPersistence({ databaseUrl: database.url });
    const { migrations } = persistence;
    const refusal = migrations.prepare({ mayMigrate: false });
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toThrow(
      'the database lacks migrations (0001-initial-schema, 0002-orders-of-a-pet, 0003-temporary-plans), and MIGRATE is off; set MIGRATE=on to apply them',
    );
    expect(await migrations.status()).toEqual({ applied: [], pending: MIGRATION_NAMES });
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
  async function expectRefusal(databaseUrl: string, reason: string): Promise<void> {
    await using persistence = openPersistence({ databaseUrl });
    const refusal = persistence.migrations.migrate();
    await expect(refusal).rejects.toThrow(SchemaError);
    await expect(refusal).rejects.toMatchObject({
      message: `the database cannot be migrated: ${reason}`,
      cause: expect.any(Error),
    });
  }

  test('because our role may not make tables', async () => {
    await using database = await createTestDatabase();
    await using role = await createRole(database.url);
    await expectRefusal(role.url, 'permission denied for schema public');
  });

  test('because our role may not read what was applied', async () => {
    await using database = await createTestDatabase();
    {
      await using persistence = openPersistence({ databaseUrl: database.url });
      await persistence.migrations.migrate();
    }
    await using role = await createRole(database.url);
    await expectRefusal(role.url, 'permission denied for table schema_migrations');
  });

  test('because another program has a table of that name', async () => {
    await using database = await createTestDatabase();
    await query(database.url, 'create table orders (of_another_program text)');
    await expectRefusal(database.url, 'relation "orders" already exists');
  });

  test('because another program keeps its migrations under that name', async () => {
    await using database = await createTestDatabase();
    await query(database.url, 'create table schema_migrations (version bigint)');
    await expectRefusal(database.url, 'column "name" does not exist');
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
    expect(await migrations.migrate()).toEqual(['0003-temporary-plans']);
    const lastingPlan = { name: 'enterprise', limits: { perMinute: 5, perDay: 9 } } as const;
    const key = { id, name: 'before', kind: 'internal', lastingPlan, createdAt: NOW } as const;
    expect(await persistence.apiKeys.findSecret(secretHash)).toEqual({ key });

    const temporaryPlan = { plan: { name: 'business' }, until: new Date(NOW.getTime() + 1) } as const;
    await keyAdministration.setTemporaryPlan(id, temporaryPlan);
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
    const { migrations } = store.persistence;
    await Promise.all([migrations.status(), migrations.status()]); // connected
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    expect(await store.persistence.migrations.migrate()).toEqual([]);
    expect(sent).toHaveBeenCalledTimes(1);
    sent.mockRestore();
  });

  test('is refused once a newer program has migrated it', async () => {
    await store.query(`insert into schema_migrations (name) values ('9999-from-the-future')`);
    const { migrations } = store.persistence;
    for (const call of [migrations.status, migrations.migrate]) {
      const refusal = call();
      await expect(refusal).rejects.toThrow(NewerDatabaseError);
      await expect(refusal).rejects.toMatchObject({ unknownMigrations: ['9999-from-the-future'] });
    }
  });
});

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** Applies the migrations of an earlier release, up to its last. */
async function migrateTo(databaseUrl: string, last: MigrationName): Promise<void> {
  const names = MIGRATION_NAMES.slice(0, MIGRATION_NAMES.indexOf(last) + 1);
  const migrations = names.map((name) => ({ name, class: MIGRATIONS[name] }));
  const orm = createOrm(new DatabaseServers(databaseUrl), { statementTimeoutMs: 0, migrations });
  await orm.migrator.up().finally(() => orm.close());
}

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
