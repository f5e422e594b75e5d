import { type OrderFilter, orderId, petId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import {
  type PostgresStandby,
  type PrivatePostgres,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
} from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence, type ReplicaState } from '../src/index.ts';
import { ALL_FIELDS, collect, FEW_FIELDS, NOW, newOrder } from './support.ts';

async function openClient(url: string) {
  const client = new pg.Client(url);
  client.on('error', () => {}); // of a server that a test has ended
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** A persistence that reads from the standby, and what it said of it. */
function openOn(primary: string, replica: string) {
  const states: ReplicaState[] = [];
  const persistence = openPersistence({
    databaseUrl: primary,
    replica: { urls: [replica], onChange: (state) => states.push(state) },
  });
  return {
    persistence,
    states,
    readFrom: (place: ReplicaState['readFrom']) =>
      expect.poll(() => persistence.replica?.report.state.readFrom, { timeout: 30_000 }).toBe(place),
    [Symbol.asyncDispose]: () => persistence.close(),
  };
}

function readsOf({ replica }: Persistence) {
  if (replica === undefined) throw new Error('it was opened without a replica');
  return replica.report.readCounts;
}

const idsOf = async ({ orders }: Persistence) => {
  const text = (await collect(orders.listOrders().as(FEW_FIELDS))).join('');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(line.split(' ')[0]));
};

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

let primary: PrivatePostgres;
let standby: PostgresStandby;
let onPrimary: pg.Client;
let opened: ReturnType<typeof openOn>;
const resources = new AsyncDisposableStack();

beforeAll(async () => {
  primary = resources.use(await startPostgresServer(REPLICATION_PARAMETERS));
  {
    await using persistence = openPersistence({ databaseUrl: primary.url });
    await persistence.migrations.migrate();
  }
  standby = resources.use(await startPostgresStandby(primary));
  onPrimary = resources.use(await openClient(primary.url));
  opened = resources.use(openOn(primary.url, standby.url));
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  await onPrimary.query('truncate orders restart identity');
  await opened.readFrom('replica');
});

/** Polls, because what a statement marks in passing reaches the standby whenever the primary next writes its log. */
const expectReads = (work: () => Promise<unknown>, counts: Record<ReplicaState['readFrom'], number>) =>
  expect
    .poll(
      async () => {
        const before = readsOf(opened.persistence);
        await work();
        const after = readsOf(opened.persistence);
        return { replica: after.replica - before.replica, primary: after.primary - before.primary };
      },
      { timeout: 30_000 },
    )
    .toEqual(counts);

describe('while the standby follows', () => {
  let onStandby: pg.Client & AsyncDisposable;
  beforeAll(async () => {
    onStandby = await openClient(standby.url);
  });
  afterAll(() => onStandby.end());

  const pauseReplay = async () => {
    await onStandby.query('select pg_wal_replay_pause()');
    await expect
      .poll(async () => (await onStandby.query('select pg_get_wal_replay_pause_state() as state')).rows)
      .toEqual([{ state: 'paused' }]);
  };

  test('long lists are read from it, short ones from the primary', async () => {
    const { persistence } = opened;
    await persistence.orders.generateOrders({ count: 10_000, seed: 1, now: NOW });
    const list = async () => expect(await idsOf(persistence)).toEqual(upTo(10_000));
    await expectReads(list, { replica: 3, primary: 0 });
    await expectReads(() => Promise.all(Array.from({ length: 20 }, list)), { replica: 3, primary: 0 });
    await onPrimary.query('delete from orders where id > 200');
    await expectReads(async () => expect(await idsOf(persistence)).toEqual(upTo(200)), { replica: 0, primary: 0 });
  });

  test('a search that has no response there in time is given up, and is no work for the primary', async () => {
    const search = () => opened.persistence.orders.findOrders({ filter: { complete: true }, limit: 10 });
    await expectReads(search, { replica: 1, primary: 0 });
    const { rows } = await onStandby.query<{ pid: number }>(
      `select pid from pg_stat_activity where query ilike '%complete = %' and pid <> pg_backend_pid()`,
    );
    expect(rows).not.toEqual([]);
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const { pid } of rows) process.kill(pid, name);
    };
    signal('SIGSTOP');
    try {
      const before = readsOf(opened.persistence);
      await expect(search()).rejects.toThrow(StorageUnavailableError);
      expect(readsOf(opened.persistence)).toEqual(before);
    } finally {
      signal('SIGCONT');
    }
    await expectReads(search, { replica: 1, primary: 0 });
  });

  test('searches run on it, and find what the primary finds', async () => {
    const { persistence } = opened;
    await persistence.orders.generateOrders({ count: 5_000, seed: 2, now: NOW });
    await onPrimary.query(
      `update orders set status = 'shipped', shipped_at = now(), complete = id % 4 = 0,
         completed_at = case when id % 4 = 0 then now() end where id % 3 = 0`,
    );
    await using alone = openPersistence({ databaseUrl: primary.url });
    const filters: OrderFilter[] = [
      { statuses: ['pending', 'cancelled'] },
      { complete: true },
      { complete: false, shipDateFrom: NOW },
      { shipDateTo: new Date('2100-01-01') },
      {
        statuses: ['shipped'],
        complete: true,
        shipDateFrom: new Date('2020-01-01'),
        shipDateTo: new Date('2026-12-01'),
      },
      { complete: false, petId: petId(7n) },
    ];
    for (const filter of filters) {
      const request = { filter, afterId: orderId(1n), limit: 40 };
      const page = await alone.orders.findOrders(request);
      expect(page.orders.length).toBeGreaterThan(0);
      const search = async () => expect(await persistence.orders.findOrders(request)).toEqual(page);
      await expectReads(search, { replica: 1, primary: 0 });
    }
  });

  test('a list holds once each what was committed before it began, however far the standby has come', async () => {
    const { persistence } = opened;
    await persistence.orders.generateOrders({ count: 5_000, seed: 3, now: NOW });
    const before = readsOf(persistence);
    let isOver = false;
    const hinder = (async () => {
      while (!isOver) {
        await onStandby.query('select pg_wal_replay_pause()');
        await onStandby.query('select pg_sleep(0.02)');
        await onStandby.query('select pg_wal_replay_resume()');
        await onStandby.query('select pg_sleep(0.01)');
      }
    })();
    await onPrimary.query('set synchronous_commit = off'); // committed before it is flushed
    for (let round = 0; round < 25; round++) {
      const { id } = await persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
      const { rows } = await onPrimary.query<{ id: string }>(
        `insert into orders (pet_id, quantity, status, complete, placed_at)
         values (1, 1, 'pending', false, now()) returning id`,
      );
      const [all, found] = await Promise.all([
        idsOf(persistence),
        persistence.orders.findOrders({ filter: { complete: false }, afterId: id, limit: 10 }),
      ]);
      expect(all).toEqual(upTo(Number(rows[0]?.id)));
      expect(found.orders.map((order) => String(order.id))).toContain(rows[0]?.id);
    }
    isOver = true;
    await hinder;
    await onPrimary.query('reset synchronous_commit');
    // Both ways were taken.
    expect(readsOf(persistence).primary).toBeGreaterThan(before.primary);
    expect(readsOf(persistence).replica).toBeGreaterThan(before.replica);
  }, 120_000);

  test('where it stays behind the primary is read, until it has come up', async () => {
    const { persistence, states } = opened;
    await persistence.orders.generateOrders({ count: 3_000, seed: 4, now: NOW });
    await expectReads(() => idsOf(persistence), { replica: 1, primary: 0 });
    await pauseReplay();
    await persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    expect(await idsOf(persistence)).toEqual(upTo(3_001));
    const search = await persistence.orders.findOrders({ filter: { complete: false }, limit: 1 });
    expect(search.orders).toHaveLength(1);
    await opened.readFrom('primary');
    expect(states.at(-1)).toEqual({ readFrom: 'primary', problem: 'it is more than a second behind' });
    expect(persistence.replica?.report.lagBytes).toBeGreaterThan(0);
    const before = readsOf(persistence);
    expect(await idsOf(persistence)).toEqual(upTo(3_001));
    expect(readsOf(persistence).replica).toBe(before.replica);
    await onStandby.query('select pg_wal_replay_resume()');
    await opened.readFrom('replica');
    await expectReads(async () => expect(await idsOf(persistence)).toEqual(upTo(3_001)), { replica: 1, primary: 0 });
  });

  test('a list that began while the log stands at the end of a page is read from it', async () => {
    const { persistence } = opened;
    await persistence.orders.generateOrders({ count: 3_000, seed: 5, now: NOW });
    const endOf = async (client: pg.Client, of: string) => {
      const { rows } = await client.query<{ lsn: string }>(`select ${of}() as lsn`);
      return rows[0]?.lsn;
    };
    const listAtEndOfPage = async () => {
      await onPrimary.query('select pg_switch_wal()');
      const flushed = await endOf(onPrimary, 'pg_current_wal_flush_lsn');
      await expect.poll(() => endOf(onStandby, 'pg_last_wal_replay_lsn'), { timeout: 30_000 }).toBe(flushed);
      const before = readsOf(persistence);
      expect(await idsOf(persistence)).toEqual(upTo(3_000));
      return readsOf(persistence).replica - before.replica;
    };
    // The server may write something of its own at any time, but hardly in each of these attempts.
    let reads = 0;
    for (let attempt = 0; attempt < 10 && reads === 0; attempt++) reads = await listAtEndOfPage();
    expect(reads).toBe(1);
  });

  test('it is read by a role without any privileges on the server', async () => {
    await onPrimary.query(`create role app login password 'app'; grant select on orders to app`);
    await opened.persistence.orders.generateOrders({ count: 3_000, seed: 6, now: NOW });
    const asApp = (text: string) => Object.assign(new URL(text), { username: 'app', password: 'app' }).href;
    await using app = openOn(asApp(primary.url), asApp(standby.url));
    await app.readFrom('replica');
    expect(await idsOf(app.persistence)).toEqual(upTo(3_000));
    await expect
      .poll(() => idsOf(app.persistence).then(() => readsOf(app.persistence).replica), { timeout: 30_000 })
      .toBeGreaterThan(0);
  });

  test('a server that is no standby of the primary is never read', async () => {
    await opened.persistence.orders.generateOrders({ count: 3_000, seed: 7, now: NOW });
    await using other = await startPostgresServer({}, { systemIdentifier: 'own' });
    for (const url of [primary.url, other.url]) {
      await using wrong = openOn(primary.url, url);
      await expect.poll(() => wrong.states, { timeout: 30_000 }).toHaveLength(1);
      expect(await idsOf(wrong.persistence)).toEqual(upTo(3_000));
      expect(readsOf(wrong.persistence)).toEqual({ replica: 0, primary: 1 });
      const problem = url === other.url ? 'it is not a copy of the database in DATABASE_URL' : 'it is no standby';
      expect(wrong.states).toEqual([{ readFrom: 'primary', problem }]);
    }
  });
});

test('a server that still follows a former primary is never read, however much it has replayed', async () => {
  await opened.persistence.orders.generateOrders({ count: 3_000, seed: 8, now: NOW });
  await using promoted = await startPostgresStandby(primary);
  await promoted.promote();
  await using after = openOn(promoted.url, standby.url);
  await after.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  const expected = await idsOf(after.persistence);
  await opened.persistence.orders.generateOrders({ count: 20_000, seed: 9, now: NOW });
  await expectReads(() => idsOf(opened.persistence), { replica: 6, primary: 0 });
  await after.readFrom('primary');
  expect(after.states).toEqual([{ readFrom: 'primary', problem: 'it is on timeline 1, the primary on 2' }]);
  expect(await idsOf(after.persistence)).toEqual(expected);
  expect(readsOf(after.persistence).replica).toBe(0);
});

/**
 * Reads a long list in the middle of which something happens. Begins anew where the standby has not replayed enough for
 * its first batches, as it may have for a moment.
 */
async function listAround(persistence: Persistence, event: () => Promise<void> | void) {
  for (;;) {
    const before = readsOf(persistence);
    const texts: string[] = [];
    let hasHappened = false;
    for await (const text of persistence.orders.listOrders().as(ALL_FIELDS)) {
      texts.push(text);
      if (texts.length !== 5) continue;
      if (readsOf(persistence).replica - before.replica < 4) break;
      await event();
      hasHappened = true;
    }
    const lines = texts.join('').split('\n').slice(0, -1);
    if (hasHappened) return { before, ids: lines.map((line) => Number(line.split(' ')[0])) };
  }
}

describe('a list goes on from the primary when, in the middle of it,', () => {
  const COUNT = 60_000;
  test.each([
    { event: 'the standby hangs', begin: () => standby.pause(), end: () => standby.resume() },
    { event: 'the standby is killed', begin: () => standby.kill(), end: () => standby.restart() },
    { event: 'the standby is promoted', begin: () => standby.promote(), end: () => {} },
  ])(
    '$event',
    async ({ begin, end }) => {
      const { persistence, states } = opened;
      await persistence.orders.generateOrders({ count: COUNT, seed: 8, now: NOW });
      await expectReads(() => idsOf(persistence), { replica: 15, primary: 0 });
      try {
        states.length = 0;
        const { before, ids } = await listAround(persistence, begin);
        expect(ids).toEqual(upTo(COUNT));
        const after = readsOf(persistence);
        expect(after.primary - before.primary).toBeGreaterThanOrEqual(5);
        await opened.readFrom('primary');
        expect(states.map(({ readFrom }) => readFrom)).toEqual(['primary']);
        const search = { filter: { complete: false }, limit: 1 };
        expect((await persistence.orders.findOrders(search)).orders).toHaveLength(1);
        expect(await idsOf(persistence)).toEqual(upTo(COUNT));
      } finally {
        await end();
      }
    },
    60_000,
  );
});
