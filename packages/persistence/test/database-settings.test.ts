import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateApiKeyId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { collect, NOW, newOrder, numbered, runSql, useTestStore } from './support.ts';

const store = useTestStore();

test('a database whose encoding does not hold every text is refused, in one line', async () => {
  await using database = await createDatabase('LATIN1');
  await using persistence = openPersistence({ databaseUrl: database.url });
  const message =
    'PostgreSQL is not available: the encoding of the database is LATIN1, which cannot store every text; ' +
    "UTF8 is required (create database ... encoding 'UTF8')";
  await expect(persistence.ping()).rejects.toMatchObject({ name: 'StorageUnavailableError', message });
  await expect(persistence.migrations.migrate()).rejects.toMatchObject({ message });
});

test('a database without an encoding holds every text', async () => {
  await using database = await createDatabase('SQL_ASCII');
  await using persistence = openPersistence({ databaseUrl: database.url });
  await persistence.migrations.migrate();
  const pet = { id: petId(1n), name: 'Łukasz, 日本, 🐕' };
  await persistence.pets.importPets(numbered([pet]));
  expect(await persistence.pets.findPet(pet.id)).toEqual(pet);
  expect(await collect(persistence.pets.listPets())).toEqual([[pet]]);
});

test('a lock_timeout of the role does not end a list that waits for a moment', async () => {
  await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  await store.query(`do $$ begin
    execute format('alter database %I set lock_timeout = 1', current_database());
  end $$`);
  await using persistence = openPersistence({ databaseUrl: store.url });
  await store.query('begin; lock table orders');
  const listed = collect(persistence.orders.listOrders());
  await sleep(300);
  await store.query('commit');
  expect((await listed).flat()).toHaveLength(1);
});

test('what operators only read is read where nothing can be written', async () => {
  const { keyAdministration } = store.persistence;
  const key = await keyAdministration.createKey(
    {
      id: generateApiKeyId(randomBytes),
      name: 'test',
      kind: 'external',
      readOnly: false,
      plan: { name: 'free' },
      createdAt: NOW,
    },
    randomBytes(32),
  );
  const setReadOnly = (value: string) =>
    store.query(`do $$ begin
      execute format('alter database %I set default_transaction_read_only = ${value}', current_database());
    end $$`);
  await setReadOnly('on');
  try {
    await using persistence = openPersistence({ databaseUrl: store.url });
    expect(await persistence.audit.read({ keyId: key.id, limit: 2 })).toMatchObject([{ action: 'key.created' }]);
    expect(await persistence.orders.countOrders()).toBeGreaterThan(0);
    expect(await persistence.pets.countPets()).toBe(0);
    expect(await collect(persistence.pets.listPets())).toEqual([]);
  } finally {
    await setReadOnly('off');
  }
});

/** An empty database of another encoding. */
async function createDatabase(encoding: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runSql(store.url, `create database ${name} encoding '${encoding}' locale 'C' template template0`);
  const { href } = Object.assign(new URL(store.url), { pathname: `/${name}` });
  return { url: href, [Symbol.asyncDispose]: () => runSql(store.url, `drop database ${name} with (force)`) };
}
