import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { openMovingAddress } from '@petstore/testing';
import { beforeEach, expect, test } from 'vitest';
import { type Call, Pool } from '../src/database/pool.ts';
import { TIMEOUTS_MS } from '../src/database/timeouts.ts';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, createRole, newOrder, openClient, runSql, useAllConnections, useTestStore } from './support.ts';

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

test('a session that the server has ended serves nobody any more, not even a caller who waits for it', async () => {
  await store.query(
    `create sequence turns;
     create function end_first() returns trigger language plpgsql as $$ begin
       if nextval('turns') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
       return new;
     end $$;
     create trigger end_first before insert on orders for each row execute function end_first()`,
  );
  await using persistence = openNarrow();
  const [first, ...others] = await Promise.allSettled(Array.from({ length: 5 }, () => place(persistence)));
  await store.query('drop trigger end_first on orders');
  expect(first).toMatchObject({ status: 'rejected', reason: { cause: { code: '57P01' } } });
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'));
});

test('of connections that lead to a server that takes no writes, only the first fails a call', async () => {
  const url = await createRole(store.url, 'former');
  await using persistence = openPersistence({ databaseUrl: url, connections: 4 });
  await persistence.ping();
  // The sessions of the pool refuse writes from now on, as those to a former primary that lives on as a standby. That of the
  // watch does not.
  await store.query(`alter role former set default_transaction_read_only = on`);
  await Promise.all(Array.from({ length: 4 }, () => persistence.orders.findOrder(SOME_ID)));
  await store.query(`alter role former reset default_transaction_read_only`);
  expect(persistence.load().openConnections).toBe(4);
  await expect(place(persistence)).rejects.toThrow('in a read-only transaction');
  for (let i = 0; i < 4; i++) await expect(place(persistence)).resolves.toMatchObject({ placed: true });
});

test('a server that ends idle sessions fails no call', async () => {
  const url = await createRole(store.url, 'idle', `idle_session_timeout = '250ms'`);
  await using persistence = openNarrow(url);
  // Longer than the server waits: a statement that it meets at the very moment is 503, as after any lost connection.
  for (let round = 0; round < 2; round++) {
    expect(await persistence.orders.findOrder(SOME_ID)).toBeUndefined();
    await sleep(600);
  }
});

test('a server without room for another connection is not away: those that are open go on', async () => {
  const url = await createRole(store.url, 'crowded');
  await using persistence = openNarrow(url);
  const states = new Set<string>();
  persistence.observe(({ state }) => states.add(state));
  await persistence.orders.findOrder(SOME_ID);
  await store.query(`alter role crowded connection limit 1`);
  const watching = async () => (await listSessions()).filter(({ query }) => query.includes('transaction_read_only'));
  await persistence.ping();
  const [watch] = await watching();
  await store.query('select pg_terminate_backend($1::integer)', [watch?.pid]);
  await expect.poll(watching).toEqual([]);
  for (let i = 0; i < 20; i++) {
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
  const url = await createRole(store.url, 'replaced');
  await using persistence = openPersistence({ databaseUrl: url, connections: 4, patienceMs: LOCKED_MS });
  await persistence.orders.findOrder(SOME_ID);
  await store.query('alter role replaced set default_transaction_read_only = on');
  await using _ = await lockPets();
  const reading = collect(persistence.pets.listPets()).catch(String); // has no response
  await expect.poll(() => persistence.load().statementsInFlight.long).toBe(1);
  await expect(place(persistence)).rejects.toThrow('in a read-only transaction');
  expect(await Promise.race([reading, sleep(1_000, 'is in progress')])).toContain('Connection terminated');
  expect(persistence.load().statementsInFlight.long).toBe(0);
});

test('callers who wait for a connection are given a new one when the server takes writes again', async () => {
  const url = await createRole(store.url, 'waiting');
  await using persistence = openPersistence({ databaseUrl: url, connections: 1, patienceMs: LOCKED_MS });
  await persistence.ping();
  await using _ = await lockPets();
  const holding = collect(persistence.pets.listPets()).catch(String); // has the only connection, and no response
  const placing = Array.from({ length: 4 }, () => place(persistence));
  await expect.poll(() => persistence.load().statementsInFlight.writes).toBe(4);
  // The session of the watch keeps its setting: only a new one shows that the server takes no writes any more.
  await runSql(
    store.url,
    `alter role waiting set default_transaction_read_only = on;
     select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where usename = 'waiting' and query ~ 'transaction_read_only|pg_backend_pid'`,
  );
  await expect(persistence.ping()).rejects.toThrow('read-only');
  await runSql(store.url, `alter role waiting reset default_transaction_read_only`);
  await persistence.ping();
  expect(await Promise.race([holding, sleep(1_000, 'is in progress')])).toContain('Connection terminated');
  const settled = await Promise.race([Promise.all(placing), sleep(5_000, 'nothing')]);
  expect(settled).toEqual(placing.map(() => expect.objectContaining({ placed: true })));
});

test('when the address moves from a machine that is gone without a word, no call waits for its connections', async () => {
  await using address = await openMovingAddress(store.url);
  await using persistence = openPersistence({ databaseUrl: address.url });
  await persistence.ping();
  await useAllConnections(persistence);
  address.silence();
  const serve = () => useAllConnections(persistence).then(() => 'served', String);
  await expect.poll(serve, { timeout: 5_000 }).toBe('served'); // the time that is promised
  await expect.poll(() => persistence.load().statementsInFlight).toEqual({ requests: 0, writes: 0, long: 0 });
});

test('a pause of this process, longer than PostgreSQL may take for a ping, replaces no connection', async () => {
  await using persistence = openNarrow();
  await persistence.orders.findOrder(SOME_ID);
  const listPids = async () => (await listSessions()).map(({ pid }) => pid).sort();
  await expect.poll(listPids).toHaveLength(2); // that of the pool, and that of the watch
  const before = await listPids();
  const pinging = persistence.ping();
  await turn(); // it is sent
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  await pinging;
  await persistence.ping();
  expect(await listPids()).toEqual(before);
});

test('a connection that is being opened when all are replaced serves nobody: it may lead to the former server', async () => {
  const url = await createRole(store.url, 'opening');
  await using address = await openMovingAddress(url);
  await using persistence = openPersistence({ databaseUrl: address.url, connections: 4, patienceMs: LOCKED_MS });
  await persistence.ping();
  await store.query('alter role opening set default_transaction_read_only = on');
  await persistence.orders.findOrder(SOME_ID);
  const release = address.hold();
  const replacing = expect(place(persistence)).rejects.toThrow('in a read-only transaction'); // on the open connection
  const finding = persistence.orders.findOrder(SOME_ID);
  await replacing;
  address.moveTo('postgres://127.0.0.1:1');
  release();
  await expect(finding).rejects.toThrow(StorageUnavailableError);
});

test('a connection that is being opened when all are closed serves nobody', async () => {
  await using address = await openMovingAddress(store.url);
  const persistence = openNarrow(address.url);
  await persistence.ping();
  const release = address.hold();
  const placing = place(persistence);
  await expect.poll(() => persistence.load().statementsInFlight.writes).toBe(1);
  await persistence.close();
  release();
  await expect(placing).rejects.toThrow(StorageUnavailableError);
  expect((await store.query('select from orders')).rows).toEqual([]);
});

test('a check that ends after the close opens nothing again', async () => {
  const { pool, lend } = openPool();
  await pool.close();
  pool.renew();
  await expect(lend((client) => client.query('select'))).rejects.toThrow(StorageUnavailableError);
  await expect.poll(listSessions).toEqual([]);
});

test('a silent connection is replaced when it responds, also if its work has sent something more meanwhile', async () => {
  const { pool, lend } = openPool();
  for (let round = 0; round < 3; round++) {
    const working = lend((client) => client.query('select pg_sleep(0.3)').finally(() => client.query('rollback')));
    await expect(Promise.race([working, sleep(5_000)])).rejects.toThrow(StorageUnavailableError);
    await expect.poll(() => pool.load.openConnections).toBe(0);
  }
  expect(await lend(async (client) => (await client.query('select 1 as one')).rows)).toEqual([{ one: 1 }]);
  await pool.close();
});

/** A pool of one connection, which is soon taken for silent. */
function openPool() {
  const timeouts = { ...TIMEOUTS_MS, silence: 200 };
  const pool = new Pool({ url: store.url, size: 1, timeouts, onFewConnections: undefined, onDoubt: () => {} });
  const lend = (work: Call<unknown>['work']) => pool.lend({ caller: { isWaiting: true }, purpose: 'requests', work });
  return { pool, lend };
}

/** Longer than any test: a statement that waits for {@link lockPets} gets no response. */
const LOCKED_MS = 60_000;

/** Keeps others from the pets, by a session of its own. */
async function lockPets(): Promise<AsyncDisposable> {
  const client = await openClient(store.url);
  await client.query('begin; lock table pets in access exclusive mode');
  return client;
}
