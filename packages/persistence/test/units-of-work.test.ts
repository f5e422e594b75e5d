import { randomBytes } from 'node:crypto';
import { petId, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { Database } from '../src/database/database.ts';
import { createUnitsOfWork } from '../src/schema/units-of-work.ts';
import { NOW, newKey, useTestStore } from './support.ts';

const store = useTestStore();

test('units of work open no connection beside those of requests', async () => {
  const { keyAdministration } = store.persistence;
  const key = newKey();
  await keyAdministration.createKey(key, randomBytes(32));
  const stranger = new pg.Client(store.url);
  await stranger.connect();
  await stranger.query('begin; select from api_keys for update');
  const revoked = keyAdministration.revokeKey(key.id, NOW);
  const findWaits = async () => {
    const { rows } = await store.query(
      `select coalesce(wait_event_type, '') from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return rows.flat().sort();
  };
  await vi.waitFor(async () => expect(await findWaits()).toContain('Lock'), PATIENTLY);
  expect(await findWaits()).toEqual(['Client', 'Client', 'Lock']); // the stranger, and the one that watches the server
  await stranger.end();
  expect(await revoked).toMatchObject({ id: key.id, revokedAt: NOW });
});

test('MikroORM is built once, and each unit of work has an identity map of its own', async () => {
  const database = new Database({ databaseUrl: store.url });
  const units = createUnitsOfWork(database);
  const [first, second] = await Promise.all([units.read(async (em) => em), units.change(async (em) => em)]);
  expect(second.config).toBe(first.config);
  expect(second.getUnitOfWork()).not.toBe(first.getUnitOfWork());
  await database.close();
});

test('a unit of work whose caller has given up meanwhile changes nothing', async () => {
  const database = new Database({ databaseUrl: store.url });
  const givenUp = Promise.withResolvers<void>();
  const changed = createUnitsOfWork(database).change(async (em, { PetEntity }) => {
    em.create(PetEntity, { id: petId(1n), name: 'Rex' });
    await em.flush();
    await givenUp.promise;
  });
  await expect(changed).rejects.toThrow(StorageUnavailableError);
  givenUp.resolve();
  await expect.poll(() => database.load().statementsInFlight.writes).toBe(0);
  expect(await store.persistence.pets.countPets()).toBe(0);
  await database.close();
});

test.each([undefined, 'select 1'])(
  'a defect of ours in a unit of work is thrown as it is (after %s)',
  async (statement) => {
    const error = new Error('a defect');
    const database = new Database({ databaseUrl: store.url });
    const work = createUnitsOfWork(database).change(async (em) => {
      if (statement !== undefined) await em.execute(statement);
      throw error;
    });
    await expect(work).rejects.toBe(error);
    await database.close();
  },
);

test('a unit of work that goes on after its session has ended is told that PostgreSQL is unavailable', async () => {
  const database = new Database({ databaseUrl: store.url });
  const work = createUnitsOfWork(database).change(async (em) => {
    await em.execute('select pg_terminate_backend(pg_backend_pid())').catch(() => {});
    await em.execute('select 1').catch(() => {});
    await em.execute('select 1');
  });
  await expect(work).rejects.toThrow(StorageUnavailableError);
  await database.close();
});

test('a unit of work that fails changes nothing, and its connection serves the next one', async () => {
  const database = new Database({ databaseUrl: store.url, connections: 1 });
  const units = createUnitsOfWork(database);
  const insert = (...names: readonly string[]) =>
    units.change(async (em, { PetEntity }) => {
      for (const [id, name] of names.entries()) {
        em.create(PetEntity, { id: petId(BigInt(id)), name });
        await em.flush();
      }
      const [row] = await em.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
      return row?.pid;
    });
  const pid = await insert();
  await expect(insert('Rex', '')).rejects.toMatchObject({ constraint: 'pets_name_check' });
  expect(await store.persistence.pets.countPets()).toBe(0);
  expect(await insert('Rex')).toBe(pid);
  expect(await store.persistence.pets.countPets()).toBe(1);
  await database.close();
});
