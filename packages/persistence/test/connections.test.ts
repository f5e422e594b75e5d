import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, newOrder, runSql, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const SOME_ID = orderId(404n);

const place = ({ orders }: Persistence) => orders.insertOrder(newOrder(), SERVICE_ORIGIN);

/** The sessions of this program at the database of the store, and what each has sent last. */
async function listSessions(): Promise<readonly { readonly pid: string; readonly query: string }[]> {
  const { rows } = await store.query(
    `select pid, query from pg_stat_activity
     where datname = current_database() and application_name = 'petstore' and backend_type = 'client backend'`,
  );
  return rows.map(([pid = '', query = '']) => ({ pid, query }));
}

/** Opens with one connection for statements, which all of them share. */
const openNarrow = (databaseUrl = store.url) => openPersistence({ databaseUrl, connections: 1 });

describe('a connection is used by nobody any more', () => {
  afterEach(() =>
    store.query('drop trigger if exists hook on orders; drop function if exists hook; drop sequence if exists turns'),
  );

  const runOnFirstInsert = (body: string) =>
    store.query(
      `create sequence turns;
       create function hook() returns trigger language plpgsql as $$ begin
         if nextval('turns') = 1 then ${body} end if;
         return new;
       end $$;
       create trigger hook before insert on orders for each row execute function hook()`,
    );

  test('when its session takes no writes and the server does', async () => {
    await using persistence = openNarrow();
    await runOnFirstInsert(`perform set_config('default_transaction_read_only', 'on', false);`);
    await place(persistence);
    await expect(place(persistence)).rejects.toThrow('in a read-only transaction');
    await expect(place(persistence)).resolves.toMatchObject({ placed: true });
  });

  test('when the server has ended its session, not even by a caller who waits for it', async () => {
    await using persistence = openNarrow();
    await runOnFirstInsert('perform pg_terminate_backend(pg_backend_pid());');
    const [first, ...others] = await Promise.allSettled(Array.from({ length: 5 }, () => place(persistence)));
    expect(first).toMatchObject({ status: 'rejected', reason: { cause: { code: '57P01' } } });
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'));
  });

  test.each([
    ['idle_session_timeout', '57P05'],
    ['idle_in_transaction_session_timeout', '25P03'],
    ['transaction_timeout', '25P04'],
  ])('when the server ends sessions by %s', async (_, state) => {
    await using persistence = openNarrow();
    await persistence.orders.findOrder(SOME_ID);
    const before = (await listSessions()).filter(({ query }) => query.includes('from "orders"'));
    expect(before).toHaveLength(1);
    await runOnFirstInsert(`raise exception 'ended' using errcode = '${state}';`);
    await expect(place(persistence)).rejects.toThrow('ended');
    await place(persistence);
    // PostgreSQL lists a session until its process has ended.
    await vi.waitFor(
      async () => expect((await listSessions()).map(({ pid }) => pid)).not.toContain(before[0]?.pid),
      PATIENTLY,
    );
  });
});

test('of connections that lead to a server that takes no writes, only the first fails a call', async () => {
  const role = await createRole('former');
  await using persistence = openPersistence({ databaseUrl: role.url, connections: 4 });
  await persistence.ping();
  // The sessions of the pool refuse writes from now on, as those to a former primary that lives on as a standby. That of the
  // watch does not.
  await store.query(`alter role ${role.name} set default_transaction_read_only = on`);
  await Promise.all(Array.from({ length: 4 }, () => persistence.orders.findOrder(SOME_ID)));
  await store.query(`alter role ${role.name} reset default_transaction_read_only`);
  expect(persistence.load().openConnections).toBe(4);
  await expect(place(persistence)).rejects.toThrow('in a read-only transaction');
  for (let i = 0; i < 4; i++) await expect(place(persistence)).resolves.toMatchObject({ placed: true });
});

test('a statement whose plan is out of date is 503, and prepared again', async () => {
  await using persistence = openNarrow();
  expect(await collect(persistence.pets.listPets())).toEqual([]);
  await store.query('alter table pets alter name type varchar(1000)');
  try {
    await expect(collect(persistence.pets.listPets())).rejects.toThrow(StorageUnavailableError);
    expect(await collect(persistence.pets.listPets())).toEqual([]);
  } finally {
    await store.query('alter table pets alter name type text');
  }
});

test('a server that ends idle sessions fails no call', async () => {
  const role = await createRole('idle', `idle_session_timeout = '250ms'`);
  await using persistence = openNarrow(role.url);
  // Longer than the server waits: a statement that it meets at the very moment is 503, as after any lost connection.
  for (let round = 0; round < 2; round++) {
    expect(await persistence.orders.findOrder(SOME_ID)).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
});

test('a server without room for another connection is not away: those that are open go on', async () => {
  const role = await createRole('crowded');
  await using persistence = openNarrow(role.url);
  const states = new Set<string>();
  persistence.observe(({ state }) => states.add(state));
  await persistence.orders.findOrder(SOME_ID);
  await store.query(`alter role ${role.name} connection limit 1`);
  const watching = async () => (await listSessions()).filter(({ query }) => query.includes('transaction_read_only'));
  await persistence.ping();
  const [watch] = await watching();
  await store.query('select pg_terminate_backend($1::integer)', [watch?.pid]);
  await expect.poll(watching).toEqual([]);
  for (let i = 0; i < 200; i++) {
    expect(await persistence.orders.findOrder(SOME_ID)).toBeUndefined();
    await persistence.ping();
  }
  expect([...states]).toEqual(['up']);
});

test('after it was closed nothing is asked of PostgreSQL any more', async () => {
  const persistence = openNarrow();
  await persistence.ping();
  await persistence.close();
  await expect(persistence.ping()).rejects.toThrow(StorageUnavailableError);
  await expect(persistence.ping()).rejects.toThrow('this process has closed its connections');
  await expect(persistence.orders.findOrder(SOME_ID)).rejects.toThrow('this process has closed its connections');
  await expect.poll(async () => (await listSessions()).length).toBe(0);
});

test('a statement that is in progress when the connections are opened anew fails at once', async () => {
  const role = await createRole('closing');
  await using persistence = openPersistence({ databaseUrl: role.url, connections: 4, patienceMs: LOCKED_MS });
  await persistence.orders.findOrder(SOME_ID);
  await store.query(`alter role ${role.name} set default_transaction_read_only = on`);
  await using _ = await lockPets();
  const reading = collect(persistence.pets.listPets()).catch(String); // has no response
  await expect.poll(() => persistence.load().statementsInFlight.long).toBe(1);
  await expect(place(persistence)).rejects.toThrow('in a read-only transaction');
  expect(await Promise.race([reading, sleep(1_000, 'is in progress')])).toContain('Connection terminated');
  expect(persistence.load().statementsInFlight.long).toBe(0);
});

test('callers who wait for a connection are given a new one when the server takes writes again', async () => {
  const role = await createRole('waiting');
  await using persistence = openPersistence({ databaseUrl: role.url, connections: 1, patienceMs: LOCKED_MS });
  await persistence.ping();
  await using _ = await lockPets();
  const holding = collect(persistence.pets.listPets()).catch(String); // has the only connection, and no response
  const placing = Array.from({ length: 4 }, () => place(persistence));
  await expect.poll(() => persistence.load().statementsInFlight.writes).toBe(4);
  // The session of the watch keeps its setting: only a new one shows that the server takes no writes any more.
  await runSql(
    store.url,
    `alter role ${role.name} set default_transaction_read_only = on;
     select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where usename = '${role.name}' and query ~ 'transaction_read_only|pg_backend_pid'`,
  );
  await expect(persistence.ping()).rejects.toThrow('read-only');
  await runSql(store.url, `alter role ${role.name} reset default_transaction_read_only`);
  await persistence.ping();
  expect(await Promise.race([holding, sleep(1_000, 'is in progress')])).toContain('Connection terminated');
  const settled = await Promise.race([Promise.all(placing), sleep(5_000, 'nothing')]);
  expect(settled).toEqual(placing.map(() => expect.objectContaining({ placed: true })));
});

test('of a server that takes no writes nothing is read, and it is used again when it takes them', async () => {
  const role = await createRole('reading', 'default_transaction_read_only = on');
  await using persistence = openNarrow(role.url);
  await expect(persistence.ping()).rejects.toThrow('PostgreSQL is read-only');
  await expect(persistence.orders.findOrder(SOME_ID)).rejects.toThrow(StorageUnavailableError);
  await runSql(store.url, `alter role ${role.name} reset default_transaction_read_only`);
  await persistence.ping();
  expect(await persistence.orders.findOrder(SOME_ID)).toBeUndefined();
});

test('while PostgreSQL is unavailable, requests open no connection, and the watch one every 0.4 seconds', async () => {
  let connectCount = 0;
  const server = createServer((socket) => {
    connectCount++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // what a TCP server that listens has
  await using persistence = openPersistence({ databaseUrl: `postgres://petstore@127.0.0.1:${port}/petstore` });
  const beganMs = performance.now();
  let refusedCount = 0;
  for (; performance.now() - beganMs < 1_000; await sleep(1)) {
    await expect(persistence.orders.findOrder(SOME_ID)).rejects.toThrow(StorageUnavailableError);
    refusedCount++;
  }
  server.close();
  expect(refusedCount).toBeGreaterThan(2 * connectCount);
  expect(connectCount).toBeGreaterThan(1);
  expect(connectCount).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 390);
});

/** Longer than any test: a statement that waits for {@link lockPets} gets no response. */
const LOCKED_MS = 60_000;

/** Keeps others from the pets, by a session of its own. */
async function lockPets(): Promise<AsyncDisposable> {
  const client = new pg.Client(store.url);
  await client.connect();
  await client.query('begin; lock table pets in access exclusive mode');
  return { [Symbol.asyncDispose]: () => client.end() };
}

/** Creates a role that may do what a server does, with a setting of its own. */
async function createRole(name: string, setting?: string): Promise<{ readonly name: string; readonly url: string }> {
  await store.query(`create role ${name} login password '${name}'`);
  if (setting !== undefined) await store.query(`alter role ${name} set ${setting}`);
  await store.query(`grant select, insert, update, delete on all tables in schema public to ${name}`);
  await store.query(`grant usage on all sequences in schema public to ${name}`);
  return { name, url: Object.assign(new URL(store.url), { username: name, password: name }).href };
}
