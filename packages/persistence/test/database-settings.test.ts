import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { petId, SERVICE_ORIGIN } from '@petstore/domain';
import { startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { expect, test } from 'vitest';
import { longSession, setSession } from '../src/database/connection.ts';
import { responseTimeouts } from '../src/database/timeouts.ts';
import { openPersistence } from '../src/index.ts';
import { toRfc3339 } from '../src/time-text.ts';
import {
  collect,
  importOrders,
  listedTexts,
  NOW,
  newOrder,
  numbered,
  pendingOrder,
  runSql,
  useTestStore,
} from './support.ts';

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

async function showOn(url: string, name: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(`show ${name}`).finally(() => client.end());
  return rows[0][name];
}

/** An empty database of another encoding. */
async function createDatabase(encoding: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runSql(store.url, `create database ${name} encoding '${encoding}' locale 'C' template template0`);
  const { href } = Object.assign(new URL(store.url), { pathname: `/${name}` });
  return { url: href, [Symbol.asyncDispose]: () => runSql(store.url, `drop database ${name} with (force)`) };
}

test.each([
  ['zone', `set timezone to 'Asia/Kolkata'`],
  ['zone, as far from UTC as none', `set timezone to 'Europe/London'`],
  ['style', `set datestyle to 'German'`],
])('the time of a session of another %s is refused', async (_, setting) => {
  const client = new pg.Client(store.url);
  await client.connect();
  await client.query(setting);
  const { rows } = await client.query(`select '2026-07-01T00:00:00Z'::timestamptz(3)::text as time`);
  await client.end();
  expect(() => toRfc3339(rows[0].time)).toThrow('not a time as this schema stores it');
});

test('each connection lists by the zone and the style that it was given, whatever the database is set to', async () => {
  await store.clear();
  const orders = Array.from({ length: 300 }, (_, i) => ({ ...pendingOrder(BigInt(i + 1)), shipDate: NOW }));
  await importOrders(store, orders);
  const name = new URL(store.url).pathname.slice(1);
  await store.query(`alter database ${name} set timezone to 'Asia/Kolkata'`);
  await store.query(`alter database ${name} set datestyle to 'German'`);
  await using persistence = openPersistence({ databaseUrl: store.url });
  expect((await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders)).toEqual(orders);
});

test('a role may have its own timeouts: they end no import and no statement', async () => {
  await using server = await startPostgresServer();
  await using owner = openPersistence({ databaseUrl: server.url });
  await owner.migrations.migrate();
  const names = ['statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'];
  const hasAll = Number(await showOn(server.url, 'server_version_num')) >= 170_000;
  for (const name of hasAll ? names : names.slice(0, 2)) {
    await runSql(server.url, `alter role current_user set ${name} = '100ms'`);
  }
  await using persistence = openPersistence({ databaseUrl: server.url });
  async function* slowly() {
    yield { line: 1, value: pendingOrder(1n) };
    await sleep(300);
    yield { line: 2, value: pendingOrder(2n) };
  }
  expect(await persistence.orders.importOrders(slowly())).toMatchObject({ insertedCount: 2 });
  expect(await collect(persistence.orders.listOrders())).toHaveLength(1);
});

test.each([
  { of: 'a server', patienceMs: undefined, silence: { tcp_user_timeout: '30000', idle_session_timeout: '30s' } },
  { of: 'a command', patienceMs: 10_000, silence: { tcp_user_timeout: '60000', idle_session_timeout: '1min' } },
])('PostgreSQL ends the session of $of whose machine is gone, or whose process stands still', async (each) => {
  const client = new pg.Client(store.url);
  await client.connect();
  await setSession(client, longSession, responseTimeouts(each.patienceMs));
  const shown = Object.fromEntries(
    await Promise.all(
      ['tcp_keepalives_idle', 'tcp_user_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'].map(
        async (name) => [name, (await client.query(`show ${name}`)).rows[0][name]],
      ),
    ),
  );
  await client.end();
  expect(shown).toEqual({
    tcp_keepalives_idle: '15',
    idle_in_transaction_session_timeout: '5s',
    ...each.silence,
  });
});

test('options in the URL stay, and the session is what the statements count on', async () => {
  await store.clear();
  const url = new URL(store.url);
  url.searchParams.set('options', '-c work_mem=5MB -c TimeZone=Asia/Tokyo -c DateStyle=German');
  await using persistence = openPersistence({ databaseUrl: url.href });
  const { order } = await persistence.orders.insertOrder(newOrder({ shipDate: NOW }), SERVICE_ORIGIN);
  expect((await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders)).toEqual([order]);
});

test('a time of more decimals than the schema has fails a list, at its beginning or later', async () => {
  await store.clear();
  await store.query('alter table orders alter ship_date type timestamptz(6)');
  const orders = Array.from({ length: 300 }, (_, i) => ({ ...pendingOrder(BigInt(i + 1)), shipDate: NOW }));
  await importOrders(store, orders);
  await store.query(`update orders set ship_date = ship_date + interval '1 microsecond' where id = 300`);
  await expect(listedTexts(store)).rejects.toThrow('05:06:07.089001+00');
  await store.query(`update orders set ship_date = ship_date + interval '1 microsecond' where id = 1`);
  await expect(listedTexts(store)).rejects.toThrow('05:06:07.089001+00');
});
