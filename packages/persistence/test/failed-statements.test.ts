import { isDeepStrictEqual } from 'node:util';
import { orderId, petId, StorageUnavailableError } from '@petstore/domain';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeStorageFailure, openPersistence, type Persistence } from '../src/index.ts';
import {
  collect,
  createRole,
  importOrders,
  listedOrders,
  listedTexts,
  NOW,
  newKey,
  numbered,
  openClient,
  pendingOrder,
  reasonOf,
  UNKNOWN_KEY_ID,
  useAllConnections,
  useTestStore,
  WAYS,
  type Way,
} from './support.ts';

const store = useTestStore();

/**
 * What a statement on a table meets: an error by its SQLSTATE, the end of its session, or a minute's wait. `commit`: the
 * session of a transaction that changes something ends while it is committed.
 */
type Fault = 'commit' | 'session ended' | 'slow' | (string & {});

const begin = (fault: Fault) => store.query('insert into fault values ($1)', [fault]);
const end = () => store.query('delete from fault');

let databaseUrl: string;
let persistence: Persistence;

beforeAll(async () => {
  await importOrders(store, [pendingOrder(1n)]);
  await store.persistence.pets.importPets(numbered([{ id: petId(1n), name: 'Rex' }]));
  await store.persistence.keyAdministration.createKey(newKey(UNKNOWN_KEY_ID), new Uint8Array(32));
  databaseUrl = await createRole(store.url, 'app');
  // Policies make every statement meet the fault, but not those of the tables' owner, who begins and ends it.
  await store.query(
    `create table fault (kind text);
     create function meet_fault() returns boolean language plpgsql stable security definer as $$
     declare met text := (select kind from fault where kind <> 'commit');
     begin
       case met
         when 'session ended' then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(5);
         when 'slow' then perform pg_sleep(60);
         else if met is not null then raise exception 'a fault' using errcode = met; end if;
       end case;
       return true;
     end $$;
     create function meet_at_commit() returns trigger language plpgsql security definer as $$ begin
       if exists (select from fault where kind = 'commit') then
         perform pg_terminate_backend(pg_backend_pid()), pg_sleep(5);
       end if;
       return null;
     end $$;
     do $$ declare name text; begin
       for name in select tablename from pg_tables where schemaname = 'public' and tablename !~ '^(fault|schema_)' loop
         execute format('alter table %I enable row level security', name);
         execute format('create policy faulty on %I to app using (meet_fault()) with check (meet_fault())', name);
         execute format('create constraint trigger faulty after insert or update or delete on %I
           deferrable initially deferred for each row execute function meet_at_commit()', name);
       end loop;
     end $$`,
  );
  // Patient, so that on a busy machine nothing but the fault fails a call.
  persistence = openPersistence({ databaseUrl, connections: 4, patienceMs: 10_000 });
});
afterEach(end);
afterAll(() => persistence.close());

/** `unavailable`, `works`, or the SQLSTATE of an error for which PostgreSQL is not said to be unavailable. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'works',
    (error) => (error instanceof StorageUnavailableError ? 'unavailable' : error.code),
  );

/** Makes all calls that are meant at once. Each must have this outcome. */
async function expectOutcome(outcome: string, isMeant = (_: string) => true, of = persistence): Promise<void> {
  const meant = Object.entries<Way>(WAYS).filter(([name]) => isMeant(name));
  expect(meant).not.toEqual([]);
  const outcomes = await Promise.all(meant.map(async ([name, way]) => [name, await outcomeOf(way(of))]));
  expect(outcomes).toEqual(meant.map(([name]) => [name, outcome]));
}

const needsTables = (name: string) => !/^(ping$|migrations)/.test(name);
const isChange = (name: string) => needsTables(name) && !/^sequences|\.(find|list|count|read|wait)/.test(name);
/** Whether its statements may take any time, on a session of their own. */
const mayTakeLong = (name: string) => /\.(count|import|generate)|^audit\.read$/.test(name);

/** How long work takes, which must end within twice the three seconds that are promised, in milliseconds. */
async function measure(work: Promise<void>): Promise<number> {
  const beganMs = performance.now();
  await work;
  const durationMs = performance.now() - beganMs;
  expect(durationMs).toBeLessThan(6_000);
  return durationMs;
}

describe('each call', () => {
  test.each([
    ['53100', 'unavailable'],
    ['40001', 'unavailable'], // not even what is tried again is tried for ever
    ['session ended', 'unavailable'],
    ['42501', '42501'],
  ])('that meets %s fails (%s), and works the next time', async (fault, outcome) => {
    await begin(fault);
    // Sequences that may not be read are an answer.
    const fails = (name: string) => needsTables(name) && !(fault === '42501' && name.startsWith('sequences'));
    await expectOutcome(outcome, fails);
    await expectOutcome('works', (name) => !fails(name));
    await end();
    await expectOutcome('works', (name) => !mayTakeLong(name)); // whose sessions are new
  });

  test('leaves nothing behind if its session ends while its changes are committed', async () => {
    await store.query(
      `update orders set status = 'pending', cancelled_at = null; delete from orders where id = 2; delete from pets;
       update api_keys set revoked_at = null, plan = 'free', last_used_at = null;
       update order_events set at = '2020-01-01'`,
    );
    const before = await readTables();
    await begin('commit');
    await expectOutcome('unavailable', isChange);
    expect(await readTables()).toEqual(before);
    await end();
    await expectOutcome('works');
  });
});

describe('each call on a connection of its own', () => {
  let wide: Persistence;
  beforeAll(() => {
    wide = openPersistence({ databaseUrl: `${databaseUrl}?application_name=wide`, connections: 32 });
  });
  afterAll(() => wide.close());

  test('gives up a locked table after a second, and its connection is used on; it waits if it may take long', async () => {
    const states = new Set<string>();
    wide.observe(({ state }) => states.add(state));
    await useAllConnections(wide);
    const before = await listWide();
    await using locking = await openClient(store.url);
    await locking.query(
      `begin; do $$ begin execute (
         select 'lock table ' || string_agg(tablename, ', ') from pg_tables where schemaname = 'public'
       ); end $$`,
    );
    const patient = expectOutcome('works', mayTakeLong, wide);
    const impatient = expectOutcome('unavailable', (name) => name !== 'ping' && !mayTakeLong(name), wide);
    const reason = reasonOf(wide.orders.findOrder(orderId(1n)));
    expect(await measure(impatient)).toBeGreaterThan(900);
    expect(await reason).toBe('PostgreSQL is unavailable (55P03)'); // by its own timeout
    await locking.query('rollback');
    await patient;
    expect(before.length).toBeGreaterThan(8);
    expect(await listWide()).toEqual(expect.arrayContaining(before));
    expect([...states]).toEqual(['up']); // it was not taken for one that hangs
  });

  test('is ended by PostgreSQL after two seconds, unless it may take long', async () => {
    await begin('slow');
    const isMeant = (name: string) => needsTables(name) && !mayTakeLong(name);
    expect(await measure(expectOutcome('unavailable', isMeant, wide))).toBeGreaterThan(1_900);
    const listSleeping = () =>
      store.query(`select from pg_stat_activity where usename = 'app' and wait_event = 'PgSleep'`);
    await expect.poll(listSleeping).toMatchObject({ rowCount: 0 });
  });

  const listWide = async () => {
    const { rows } = await store.query(`select pid from pg_stat_activity where application_name = 'wide'`);
    return rows.flat();
  };
});

/** What an error is for its caller, what becomes of its connection, and what the operator is told. */
type Row = readonly [state: string, outcome: 'unavailable' | 'a defect', connection: 'kept' | 'lost', reason?: string];

const ERRORS: readonly Row[] = [
  ['08006', 'unavailable', 'kept'],
  ['0A000', 'unavailable', 'lost'], // a prepared statement is out of date
  ['22003', 'a defect', 'kept'],
  ['25006', 'unavailable', 'lost'], // the session takes no writes
  ['25P03', 'unavailable', 'lost'],
  ['25P04', 'unavailable', 'lost'],
  ['26000', 'unavailable', 'lost'],
  ['40001', 'unavailable', 'kept'],
  ['40P01', 'unavailable', 'kept'],
  ['42501', 'a defect', 'kept', 'PostgreSQL denies permission'],
  ['42P01', 'unavailable', 'kept', 'PostgreSQL lacks the schema (a table is missing)'],
  ['42P05', 'unavailable', 'lost'],
  ['53100', 'unavailable', 'kept', 'PostgreSQL is out of disk space'],
  ['53200', 'unavailable', 'kept', 'PostgreSQL is out of memory'],
  ['53300', 'unavailable', 'kept', 'PostgreSQL has too many connections'],
  ['53400', 'unavailable', 'kept', 'PostgreSQL has reached a limit of its configuration, such as temp_file_limit'],
  ['55P03', 'unavailable', 'kept'],
  ['57014', 'unavailable', 'kept'],
  ['57P01', 'unavailable', 'lost', 'PostgreSQL is unavailable (shutting down)'],
  ['57P02', 'unavailable', 'lost', 'PostgreSQL is unavailable (crashed)'],
  ['57P03', 'unavailable', 'lost', 'PostgreSQL is unavailable (starting up or shutting down)'],
  ['57P04', 'unavailable', 'lost', 'PostgreSQL is unavailable (the database was dropped)'],
  ['57P05', 'unavailable', 'lost'],
  ['58030', 'unavailable', 'kept', 'PostgreSQL cannot read or write its disk'],
  ['XX000', 'a defect', 'kept'],
];

describe('an error of PostgreSQL', () => {
  let narrow: Persistence;
  beforeAll(() => {
    narrow = openPersistence({ databaseUrl: `${databaseUrl}?application_name=narrow`, connections: 1 });
  });
  afterAll(() => narrow.close());

  /** The session that serves calls: the latest, because PostgreSQL lists others until their processes have ended. */
  const findSession = async () => {
    const { rows } = await store.query(
      `select pid from pg_stat_activity where application_name = 'narrow' and query ~ 'from "orders"'
       order by backend_start desc limit 1`,
    );
    return rows;
  };

  test.for(ERRORS)('%s is for its caller: %s; the connection is %s', async ([state, outcome, connection, reason]) => {
    const { orders, pets } = narrow;
    const find = () => orders.findOrder(orderId(1n));
    await find();
    const before = await findSession();
    await begin(state);
    // By a statement, and by MikroORM, which wraps errors.
    for (const call of [find, () => pets.findPet(petId(1n))]) {
      const error: unknown = await call().catch((thrown) => thrown);
      expect(error instanceof StorageUnavailableError ? 'unavailable' : 'a defect').toBe(outcome);
      expect(describeStorageFailure(error)).toBe(reason ?? `PostgreSQL is unavailable (${state})`);
    }
    await end();
    await find();
    expect(isDeepStrictEqual(await findSession(), before) ? 'kept' : 'lost').toBe(connection);
  });

  test('that a statement is out of date is met once', async () => {
    const list = () => outcomeOf(collect(narrow.pets.listPets()));
    expect(await list()).toBe('works');
    await store.query('alter table pets alter name type varchar(1000)');
    expect([await list(), await list()]).toEqual(['unavailable', 'works']);
  });
});

/** The content of every table but `fault`. */
const readTables = async () => {
  const { rows } = await store.query(
    `select tablename, query_to_xml(format('select * from %I', tablename), true, false, '')
     from pg_tables where schemaname = 'public' and tablename <> 'fault' order by 1`,
  );
  return rows;
};

test('a time of more decimals than the schema has is a defect, wherever it is read', async () => {
  await store.query('alter table orders alter ship_date type timestamptz(6)');
  const ids = Array.from({ length: 300 }, (_, i) => BigInt(i + 1_000));
  await importOrders(
    store,
    ids.map((id) => ({ ...pendingOrder(id), shipDate: NOW })),
  );
  const calls: readonly (() => Promise<unknown>)[] = [
    () => store.persistence.orders.findOrder(orderId(1_299n)),
    () => listedOrders(store),
    () => listedTexts(store),
  ];
  // In the last batch of lists, and then in the first one.
  for (const id of [1_299, 1_000]) {
    await store.query(`update orders set ship_date = ship_date + interval '1 microsecond' where id = ${id}`);
    for (const call of calls) {
      const error: unknown = await call().catch((thrown) => thrown);
      expect(error).not.toBeInstanceOf(StorageUnavailableError);
      expect(String(error)).toContain('not a time as this schema stores it: 2026-03-04 05:06:07.089001+00');
    }
  }
});
