import { LISTED_FIELDS, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY, type PrivateServer, startPostgresServer } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { NOW, newOrder, WAYS, type Way } from './support.ts';

const ways = Object.entries<Way>(WAYS);

/** No process listens there, and the system assigns it to none. */
const DESERTED_PORT = 1;

test('each call to a PostgreSQL that is not there fails, and not by a time limit', async () => {
  const databaseUrl = `postgres://petstore@127.0.0.1:${DESERTED_PORT}/petstore`;
  await using persistence = openPersistence({ databaseUrl });
  for (const [name, way] of ways) {
    const call = way(persistence);
    await expect(call, name).rejects.toThrow(StorageUnavailableError);
    await expect(call, name).rejects.toThrow(/ECONNREFUSED/);
  }
});

test('a PostgreSQL that hangs is not waited for by a process that ends, although it uses no connection', async () => {
  await using server = await startPostgresServer();
  const persistence = openPersistence({ databaseUrl: server.url });
  await persistence.migrations.migrate();
  server.pause();
  const beganMs = performance.now();
  await persistence.close();
  expect(performance.now() - beganMs).toBeLessThan(2_500);
});

describe('a PostgreSQL that is killed', () => {
  let server: PrivateServer;
  let persistence: Persistence;

  beforeAll(async () => {
    server = await startPostgresServer();
    persistence = openPersistence({ databaseUrl: server.url });
    await persistence.migrations.migrate();
  });
  afterAll(async () => {
    await persistence.close();
    await server[Symbol.asyncDispose]();
  });

  test('is back at its return, for every kind of call', async () => {
    // Opens every connection, so that each of them is lost.
    await Promise.all(Array.from({ length: 40 }, () => persistence.orders.findOrder(orderId(-1n))));
    await server.kill();
    for (const [name, way] of ways) await expect(way(persistence), name).rejects.toThrow(StorageUnavailableError);
    await server.restart();
    // A check that has just failed is not repeated at once.
    await vi.waitFor(() => persistence.orders.findOrder(orderId(-1n)), PATIENTLY);
    for (const [, way] of ways) await way(persistence);
  });

  test('fails who waits for events; followed on when it is back, no event is missed', async () => {
    const { events, orders } = persistence;
    const { nextAfter } = await events.readEvents('now', 1);
    const waiting = events.waitForEvents(nextAfter, 10, AbortSignal.timeout(30_000));
    await Promise.all([expect(waiting).rejects.toThrow(StorageUnavailableError), server.kill()]);
    await server.restart();
    const { order } = await vi.waitFor(() => orders.insertOrder(newOrder(), SERVICE_ORIGIN), PATIENTLY);
    const page = await vi.waitFor(() => events.waitForEvents(nextAfter, 10, AbortSignal.timeout(30_000)), PATIENTLY);
    expect(page.events.map((event) => event.order)).toContainEqual(order);
  });

  test('fails a list that is under way, which never looks complete', async () => {
    await persistence.orders.generateOrders({ count: 30_000, seed: 1, now: NOW });
    const listing = persistence.orders.listOrderTexts(LISTED_FIELDS)[Symbol.asyncIterator]();
    await listing.next();
    await listing.next();
    await server.kill();
    // What was fetched ahead may still come.
    const rest = async () => {
      while (!(await listing.next()).done);
    };
    await expect(rest()).rejects.toThrow(StorageUnavailableError);
    await server.restart();
  });
});
