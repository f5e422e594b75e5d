import { setTimeout as sleep } from 'node:timers/promises';
import { openPersistence } from '@petstore/persistence';
import { PATIENCE_MS, type PrivateServer, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { forgedKey, KEYS, prepareServerDatabase } from '../support/database.ts';
import { type SpawnedServer, startServer } from '../support/spawned-server.ts';
import { allowedMs } from './support/allowed-time.ts';

/** The longest that any request waits. 2.5 s was measured. */
const IN_TIME_MS = allowedMs(3);
/** The longest that a request waits that begins when PostgreSQL has hung for 4 s. 0.1 s was measured. */
const AT_ONCE_MS = allowedMs(0.5);
/** How long after the return of PostgreSQL all is well. 0.9 s was measured. */
const RETURN_MS = allowedMs(2);

const resources = new AsyncDisposableStack();
let postgres: PrivateServer;
let server: SpawnedServer;
let url: string;
let nextOrder = 1;

beforeAll(async () => {
  postgres = resources.use(await startPostgresServer());
  await prepareServerDatabase(postgres.url);
  await using persistence = openPersistence({ databaseUrl: postgres.url, patienceMs: PATIENCE_MS });
  await persistence.orders.generateOrders({ count: 60_000, seed: 1, now: new Date() });
  ({ server } = resources.use(await startServer({ DATABASE_URL: postgres.url })));
  url = await server.url();
});
afterAll(() => resources.disposeAsync());

const withKey = (path: string, key: string, method = 'GET') =>
  fetch(url + path, { method, headers: { authorization: `Bearer ${key}` } });
const input = encodeURIComponent(JSON.stringify({ json: { orderId: '1' }, meta: { values: { orderId: ['bigint'] } } }));

/** Requests by every way to PostgreSQL that a request takes. */
const REQUESTS = {
  page: () => withKey('/v2/store/orders?limit=5', KEYS.unlimited.text),
  list: () => withKey('/v1/store/orders', KEYS.unlimited.text),
  cancel: () => withKey(`/v1/store/orders/${nextOrder++}`, KEYS.unlimited.text, 'DELETE'),
  'unknown key': () => withKey('/v2/store/orders', forgedKey()),
  tRPC: () => withKey(`/trpc/orders.get?input=${input}`, KEYS.internal.text),
};

/** What each way gives, and how long the slowest took. */
async function sendAll(): Promise<{ readonly statuses: Record<string, number>; readonly longestMs: number }> {
  const begin = performance.now();
  const responses = await Promise.all(
    Object.entries(REQUESTS).map(async ([name, send]) => {
      const response = await send();
      await response.arrayBuffer();
      return [name, response.status] as const;
    }),
  );
  return { statuses: Object.fromEntries(responses), longestMs: performance.now() - begin };
}

const SERVED = { page: 200, list: 200, cancel: 204, 'unknown key': 401, tRPC: 200 };
const UNAVAILABLE = Object.fromEntries(Object.keys(REQUESTS).map((name) => [name, 503]));

/** Waits for what holds soon. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 100 });

/** Lets PostgreSQL go on, and expects that every way to it is served in time. */
async function expectReturn(): Promise<void> {
  postgres.resume();
  const begin = performance.now();
  await eventually(async () => expect((await sendAll()).statuses).toEqual(SERVED));
  await eventually(async () => expect((await server.readiness()).status).toBe(200));
  expect(performance.now() - begin).toBeLessThan(RETURN_MS);
}

test('while PostgreSQL hangs no request waits for it, and soon none even begins to', async () => {
  await eventually(async () => expect((await sendAll()).statuses).toEqual(SERVED));
  postgres.pause();
  const early = await sendAll();
  expect(early.statuses).toEqual(UNAVAILABLE);
  expect(early.longestMs).toBeLessThan(IN_TIME_MS);
  await eventually(async () =>
    expect(await server.readiness()).toMatchObject({
      status: 503,
      report: { problems: ['PostgreSQL is hung (not responding)'], postgres: 'down' },
    }),
  );
  for (let i = 0; i < 3; i++) {
    const late = await sendAll();
    expect(late.statuses).toEqual(UNAVAILABLE);
    expect(late.longestMs).toBeLessThan(AT_ONCE_MS);
    const begin = performance.now();
    expect((await server.readiness()).status).toBe(503);
    expect(performance.now() - begin).toBeLessThan(AT_ONCE_MS);
  }
  await expectReturn();
});

test('it notices a PostgreSQL that hangs without any request', async () => {
  postgres.pause();
  await sleep(4_000);
  const { statuses, longestMs } = await sendAll();
  expect(statuses).toEqual(UNAVAILABLE);
  expect(longestMs).toBeLessThan(AT_ONCE_MS);
  await expectReturn();
});

test('a list that is under way when PostgreSQL begins to hang is cut, not ended', async () => {
  const response = await withKey('/v1/store/orders', KEYS.unlimited.text);
  const reader = response.body?.getReader();
  await reader?.read();
  postgres.pause();
  const readOn = async () => {
    for (;;) if ((await reader?.read())?.done !== false) return;
  };
  await expect(readOn()).rejects.toThrow();
  await expectReturn();
});

describe('one process of PostgreSQL that is frozen', () => {
  const STATEMENTS = {
    cancel: 'with found as (%',
    ping: '%transaction_read_only%',
    page: 'select "id",%order by "id" asc limit%',
  };

  async function withFrozen(kind: keyof typeof STATEMENTS, work: () => Promise<void>): Promise<void> {
    const client = new pg.Client(postgres.url);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'petstore' and state = 'idle' and query like $1 limit 1`,
      [STATEMENTS[kind]],
    );
    await client.end();
    const pid = rows[0]?.pid;
    if (pid === undefined) throw new Error(`no session has been used to ${kind}`);
    process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  test('costs a few cancels, none of which waits long', async () => {
    for (let i = 0; i < 30; i++) await REQUESTS.cancel();
    await withFrozen('cancel', async () => {
      const begin = performance.now();
      const cancels: Promise<number>[] = [];
      while (performance.now() - begin < 4_000) {
        cancels.push(REQUESTS.cancel().then(({ status }) => status));
        await sleep(20);
      }
      const statuses = await Promise.all(cancels);
      expect(performance.now() - begin).toBeLessThan(IN_TIME_MS + 4_000);
      expect(statuses.filter((status) => status !== 204 && status !== 503)).toEqual([]);
      expect(statuses.filter((status) => status === 503).length).toBeLessThan(statuses.length / 4);
    });
  });

  test('keeps the read that meets it from waiting for longer than a read may take', async () => {
    // As many as there are connections, so that one of them meets the frozen process.
    const readAll = () =>
      Promise.all(
        Array.from({ length: 16 }, async () => {
          const begin = performance.now();
          const { status } = await REQUESTS.page();
          return { status, waitedMs: performance.now() - begin };
        }),
      );
    await readAll();
    await withFrozen('page', async () => {
      const reads = await readAll();
      expect(reads.filter(({ status }) => status === 503)).toHaveLength(1);
      expect(reads.filter(({ status }) => status === 200)).toHaveLength(15);
      expect(Math.max(...reads.map(({ waitedMs }) => waitedMs))).toBeLessThan(4_800);
    });
  });

  test('does not make the server not ready, even if pings meet it', async () => {
    await withFrozen('ping', async () => {
      const statuses: number[] = [];
      for (const begin = performance.now(); performance.now() - begin < 4_000; await sleep(100)) {
        statuses.push((await server.readiness()).status);
      }
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(statuses.length * 0.9);
    });
  });
});
