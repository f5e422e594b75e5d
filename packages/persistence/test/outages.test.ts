import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LISTED_FIELDS, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY, type PrivateServer, startPostgresServer } from '@petstore/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import {
  createRole,
  NOW,
  newOrder,
  openClient,
  reasonOf,
  runSql,
  useAllConnections,
  WAYS,
  type Way,
} from './support.ts';

const ways = Object.entries<Way>(WAYS);

/** Three batches of a list. */
const ORDER_COUNT = 3_000;

let server: PrivateServer;
let databaseUrl: string;

beforeAll(async () => {
  server = await startPostgresServer();
  await using owner = openPersistence({ databaseUrl: server.url });
  await owner.migrations.migrate();
  await owner.orders.generateOrders({ count: ORDER_COUNT, seed: 1, now: NOW });
  databaseUrl = await createRole(server.url, 'guest');
});
afterAll(() => server[Symbol.asyncDispose]());

/** Runs each statement in a transaction of its own. */
async function sql(...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await runSql(server.url, statement);
}

/** Ends the sessions of the role, but those that watch the server. */
const END_SESSIONS = `
  select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where usename = 'guest' and query !~ 'transaction_read_only|pg_backend_pid'`;

/** On all sessions, also those that are open. */
const setReadOnly = async (value: 'on' | 'off') => {
  await sql(`alter system set default_transaction_read_only = ${value}`, 'select pg_reload_conf()');
  const show = async () => {
    await using client = await openClient(server.url);
    return (await client.query('show default_transaction_read_only')).rows;
  };
  await expect.poll(show).toEqual([{ default_transaction_read_only: value }]);
};

interface Outage {
  /** What the operator is told. */
  readonly phrase: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

/** What may befall the whole of PostgreSQL. */
const OUTAGES: Readonly<Record<string, Outage>> = {
  'is killed': {
    phrase: 'PostgreSQL is unavailable (connection refused, ECONNREFUSED)',
    begin: () => server.kill(),
    end: () => server.restart(),
  },
  hangs: {
    phrase: 'PostgreSQL is hung (not responding)',
    begin: () => server.pause(),
    end: () => server.resume(),
  },
  'takes no writes': {
    phrase: 'PostgreSQL is read-only (it is a standby, or was made read-only)',
    begin: () => setReadOnly('on'),
    end: () => setReadOnly('off'),
  },
  'has no room for a connection': {
    phrase: 'PostgreSQL has too many connections',
    begin: () => sql('alter role guest connection limit 0', END_SESSIONS),
    end: () => sql('alter role guest connection limit -1'),
  },
  'rejects the login': {
    phrase: 'PostgreSQL rejects the login (wrong password)',
    begin: () => sql(`alter role guest password 'rotated'`, END_SESSIONS),
    end: () => sql(`alter role guest password 'guest'`),
  },
};

/** Whether the caller was told in time, within twice the three seconds that are promised, that PostgreSQL cannot be used. */
async function isGivenUp(call: Promise<unknown>, name: string): Promise<boolean> {
  const beganMs = performance.now();
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(performance.now() - beganMs, name).toBeLessThan(6_000);
  if (error !== undefined) expect(error, name).toBeInstanceOf(StorageUnavailableError);
  return error !== undefined;
}

test.each(Object.entries(OUTAGES))(
  'a PostgreSQL that %s fails each call in time, soon at once and with the reason, and serves each when it is back',
  async (_, { phrase, begin, end }) => {
    const open = () => openPersistence({ databaseUrl, connections: 4 });
    await using used = open();
    await using fresh = open();
    const ending = open();
    await vi.waitFor(() => Promise.all([useAllConnections(used), ending.orders.findOrder(orderId(1n))]), PATIENTLY);
    const begun = Promise.withResolvers<void>();
    const listed = isGivenUp(listAll(used, begun.promise), 'a list');
    const { nextAfter } = await used.events.readEvents('now', 1);
    const waiting = isGivenUp(used.events.waitForEvents(nextAfter, 10, AbortSignal.timeout(30_000)), 'waiting');
    await begin();
    try {
      begun.resolve();
      const ended = [isGivenUp(ending.ping(), 'ping'), isGivenUp(ending.close(), 'close')]; // it has open connections
      await Promise.all([
        ...ways.map(([name, way]) => isGivenUp(way(used), name)),
        ...ways.map(async ([name, way]) => expect(await isGivenUp(way(fresh), name), name).toBe(true)),
      ]);
      expect(await waiting).toBe(true);
      await listed;
      for (const persistence of [used, fresh]) await vi.waitFor(() => expectAllToFail(persistence, phrase), PATIENTLY);
      await Promise.all(ended);
    } finally {
      await end();
    }
    await expect.poll(() => reasonOf(used.ping()), PATIENTLY).toBe('none');
    await expect.poll(() => reasonOf(fresh.ping()), PATIENTLY).toBe('none');
    for (const [name, way] of ways)
      await expect.poll(() => reasonOf(way(used)), { ...PATIENTLY, message: name }).toBe('none');
    const { order } = await vi.waitFor(() => fresh.orders.insertOrder(newOrder(), SERVICE_ORIGIN), PATIENTLY);
    const page = await vi.waitFor(() => used.events.readEvents(nextAfter, 1_000), PATIENTLY);
    expect(page.events.map((event) => event.order)).toContainEqual(order);
  },
);

/** Each call fails with the reason, and none waits for PostgreSQL. */
async function expectAllToFail(persistence: Persistence, phrase: string): Promise<void> {
  const beganMs = performance.now();
  const reasons = await Promise.all(ways.map(async ([name, way]) => [name, await reasonOf(way(persistence))]));
  expect(reasons).toEqual(ways.map(([name]) => [name, phrase]));
  expect(performance.now() - beganMs).toBeLessThan(1_500);
}

/** Lists all orders, of which the first batch is followed by the others when it is time. No list is cut without an error. */
async function listAll({ orders }: Persistence, time: Promise<void>): Promise<void> {
  let count = 0;
  for await (const batch of orders.listOrderTexts(LISTED_FIELDS)) {
    count += [...batch.orders].length;
    await time;
  }
  expect(count).toBeGreaterThanOrEqual(ORDER_COUNT);
}

test('connections that are left to a PostgreSQL that hangs keep no process alive', async () => {
  const countSockets = () => process.getActiveResourcesInfo().filter((each) => each === 'TCPSocketWrap').length;
  const persistence = openPersistence({ databaseUrl, connections: 4 });
  const countBefore = countSockets();
  await useAllConnections(persistence);
  server.pause();
  try {
    await persistence.close();
    expect(countSockets()).toBe(countBefore);
  } finally {
    server.resume();
  }
});

test('while PostgreSQL is unavailable, requests open no connection, and the watch one every 0.4 seconds', async () => {
  let connectCount = 0;
  const refusing = createServer((socket) => {
    connectCount++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const { port } = refusing.address() as AddressInfo; // what a TCP server that listens has
  await using persistence = openPersistence({ databaseUrl: `postgres://petstore@127.0.0.1:${port}/petstore` });
  const beganMs = performance.now();
  for (let callCount = 0; callCount < 80; callCount++) {
    await expect(persistence.orders.findOrder(orderId(1n))).rejects.toThrow(StorageUnavailableError);
    await sleep(10);
  }
  refusing.close();
  expect(connectCount).toBeGreaterThan(1);
  expect(connectCount).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 390);
});
