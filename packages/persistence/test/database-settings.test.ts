import { setTimeout as sleep } from 'node:timers/promises';
import { petId, SERVICE_ORIGIN } from '@petstore/domain';
import { beforeEach, expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { toRfc3339 } from '../src/time-text.ts';
import {
  collect,
  createRole,
  importOrders,
  NOW,
  newOrder,
  numbered,
  openClient,
  pendingOrder,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

test('a database without an encoding holds every text', async () => {
  await store.query(`create database without_encoding encoding 'SQL_ASCII' locale 'C' template template0`);
  {
    const { href } = Object.assign(new URL(store.url), { pathname: '/without_encoding' });
    await using persistence = openPersistence({ databaseUrl: href });
    await persistence.migrations.migrate();
    const pet = { id: petId(1n), name: 'Łukasz, 日本, 🐕' };
    await persistence.pets.importPets(numbered([pet]));
    expect(await persistence.pets.findPet(pet.id)).toEqual(pet);
    expect(await collect(persistence.pets.listPets())).toEqual([[pet]]);
  }
  await store.query('drop database without_encoding with (force)');
});

test('timeouts of the role end no list that waits for a moment, no import and no statement', async () => {
  const databaseUrl = await createRole(store.url, 'hasty', 'lock_timeout = 1');
  const { rows } = await store.query(
    `select name from pg_settings
     where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`,
  );
  expect(rows.length).toBeGreaterThan(1); // the last one since PostgreSQL 17
  for (const [name] of rows) await store.query(`alter role hasty set ${name} = '100ms'`);
  await using persistence = openPersistence({ databaseUrl });
  async function* slowly() {
    yield { line: 1, value: pendingOrder(1n) };
    await sleep(300);
    yield { line: 2, value: pendingOrder(2n) };
  }
  expect(await persistence.orders.importOrders(slowly())).toMatchObject({ insertedCount: 2 });
  await store.query('begin; lock table orders');
  const listed = collect(persistence.orders.listOrders());
  await sleep(300);
  await store.query('commit');
  expect((await listed).flatMap((batch) => batch.orders)).toHaveLength(2);
});

test.each([
  ['zone', `set timezone to 'Asia/Kolkata'`],
  ['zone, as far from UTC as none', `set timezone to 'Europe/London'`],
  ['style', `set datestyle to 'German'`],
])('the time of a session of another %s is refused', async (_, setting) => {
  await using client = await openClient(store.url);
  await client.query(setting);
  const { rows } = await client.query(`select '2026-07-01T00:00:00Z'::timestamptz(3)::text as time`);
  expect(() => toRfc3339(rows[0].time)).toThrow('not a time as this schema stores it');
});

test.each([
  ['database', `set TimeZone = 'Asia/Kolkata'`, `set DateStyle = 'German'`, ''],
  ['URL', 'reset TimeZone', 'reset DateStyle', '?options=-c work_mem=5MB -c TimeZone=Asia/Tokyo -c DateStyle=German'],
])('each connection reads times as they are stored, whatever the %s says', async (_, zone, style, search) => {
  const orders = Array.from({ length: 300 }, (__, i) => ({ ...pendingOrder(BigInt(i + 1)), shipDate: NOW }));
  await importOrders(store, orders);
  const name = new URL(store.url).pathname.slice(1);
  await store.query(`alter database ${name} ${zone}; alter database ${name} ${style}`);
  const { href } = Object.assign(new URL(store.url), { search });
  await using persistence = openPersistence({ databaseUrl: href });
  expect((await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders)).toEqual(orders);
  const { order } = await persistence.orders.insertOrder(newOrder({ shipDate: NOW }), SERVICE_ORIGIN);
  expect(await persistence.orders.findOrder(order.id)).toEqual(order);
});

test.each([
  { of: 'a server', patienceMs: undefined, silenceMs: '30000' },
  { of: 'a command', patienceMs: 10_000, silenceMs: '60000' },
])('PostgreSQL ends the session of $of whose machine is gone, or whose process stands still', async (each) => {
  await using persistence = openPersistence({ databaseUrl: store.url, patienceMs: each.patienceMs });
  await store.query(
    `create table seen (name text, setting text);
     create function see() returns trigger language plpgsql as $$ begin
       insert into seen select name, setting from pg_settings where name ~ 'tcp_user|keepalives_idle|idle_(in|session)';
       return null;
     end $$;
     create trigger see after insert on pets execute function see()`,
  );
  await persistence.pets.importPets(numbered([{ id: petId(1n), name: 'Rex' }]));
  const { rows } = await store.query('select name, setting from seen');
  await store.query('drop trigger see on pets; drop function see; drop table seen');
  expect(Object.fromEntries(rows)).toEqual({
    tcp_keepalives_idle: '15',
    tcp_user_timeout: each.silenceMs,
    idle_session_timeout: each.silenceMs,
    idle_in_transaction_session_timeout: '5000',
  });
});
