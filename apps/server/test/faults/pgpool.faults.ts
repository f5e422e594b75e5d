import { createPetstoreClient, type PetstoreClient } from '@petstore/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../process/support/spawned-server.ts';
import { startServer } from '../process/support/start-server.ts';
import { KEYS } from '../support/keys.ts';
import { query } from './support/query.ts';
import { countRowsRead, isReadFrom, type StandbyReads, startStandbyReads } from './support/standby-reads.ts';

/** So many that a list goes over two seams of batches. */
const ORDERS_BEFORE = 10_000;
const LISTS = 10;
const PLACEMENTS = 20;
const CANCELS = 200;
/** How many callers want to cancel each order at once. */
const RIVALS = 3;
const AT_ONCE = 20;
/** Of no order that was there before. */
const PET_ID = 7_000_000n;

/** Pgpool-II looks each second whether the standby is there, and takes it back after 10 s. */
const PATIENTLY = { timeout: 60_000, interval: 250 };

const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };

const resources = new AsyncDisposableStack();
let storage: StandbyReads;
let server: SpawnedServer;
let url: string;
let client: PetstoreClient;
beforeAll(async () => {
  storage = resources.use(await startStandbyReads(ORDERS_BEFORE));
  await start();
});
afterAll(() => resources.disposeAsync());

async function start(): Promise<void> {
  ({ server } = resources.use(await startServer({ DATABASE_URL: storage.url })));
  url = await server.url();
  client = createPetstoreClient({ baseUrl: url, apiKey: KEYS.internal.text });
}

/** What a failed assertion shows besides: why the server failed last. */
const lastFailure = () => server.stdout.match(/.*"err":.*/g)?.at(-1);

interface ListedOrder {
  readonly id: number;
  readonly shipDate?: string;
}

async function list(): Promise<readonly ListedOrder[]> {
  const response = await fetch(`${url}/v1/store/orders`, { headers });
  expect(response.status, lastFailure()).toBe(200);
  return response.json() as Promise<readonly ListedOrder[]>; // as documented
}

/** The ids of the cancelled orders, by a search. There are fewer than a page holds. */
async function findCancelled(): Promise<readonly number[]> {
  const response = await fetch(`${url}/v2/store/orders?status=cancelled&petId=${PET_ID}&limit=1000`, { headers });
  expect(response.status).toBe(200);
  const orders = (await response.json()) as readonly { readonly id: string }[]; // as documented
  return orders.map(({ id }) => Number(id));
}

const place = async (): Promise<number> =>
  Number((await client.orders.place.mutate({ petId: PET_ID, quantity: 1 })).id);

const cancel = (id: number): Promise<number> =>
  fetch(`${url}/v1/store/orders/${id}`, { method: 'DELETE', headers }).then(async (response) => {
    await response.arrayBuffer();
    return response.status;
  });

/** The rows of orders that the primary and the standby read for an action. Servers count them a second later. */
async function rowsReadDuring(action: () => Promise<unknown>, expectedCount: number) {
  const count = async () => ({
    primary: await countRowsRead(storage.primary),
    reader: await countRowsRead(storage.reader),
  });
  const before = await count();
  await action();
  const readSince = async () => {
    const { primary, reader } = await count();
    return { primary: primary - before.primary, reader: reader - before.reader };
  };
  await expect
    .poll(() => readSince().then(({ primary, reader }) => primary + reader), PATIENTLY)
    .toBeGreaterThanOrEqual(expectedCount);
  return readSince();
}

test('the rows of lists are read on the standby, in sessions that are set there, too', async () => {
  const direct = await query(storage.primary.url, 'select id, ship_date from orders order by id');
  const rows = await rowsReadDuring(async () => {
    for (let i = 0; i < LISTS; i++) {
      expect((await list()).map(({ id, shipDate }) => [id, shipDate && new Date(shipDate).getTime()])).toEqual(
        direct.map((row) => [Number(row['id']), row['ship_date'] === null ? undefined : +(row['ship_date'] as Date)]),
      );
    }
  }, LISTS * ORDERS_BEFORE);
  expect(rows.reader / (rows.primary + rows.reader)).toBeGreaterThan(0.99);
});

test('a list holds what was placed just before, and subscribers receive it', async () => {
  const stop = new AbortController();
  const received: number[] = [];
  const following = (async () => {
    for await (const { order } of client.events({ signal: stop.signal })) received.push(Number(order.id));
  })();
  // The first event shows that the subscription has begun.
  await expect.poll(() => place().then(() => received.length), PATIENTLY).toBeGreaterThan(0);
  const placed: number[] = [];
  for (let i = 0; i < PLACEMENTS; i++) {
    placed.push(await place());
    expect((await list()).at(-1)?.id).toBe(placed.at(-1));
  }
  await expect.poll(() => received.at(-1), PATIENTLY).toBe(placed.at(-1));
  expect(received.slice(-PLACEMENTS)).toEqual(placed);
  stop.abort();
  await following.catch(() => {});
});

test('of those who cancel an order at once one succeeds, and lists show it', async () => {
  const ids: number[] = [];
  for (let i = 0; i < CANCELS; i += AT_ONCE) ids.push(...(await Promise.all(Array.from({ length: AT_ONCE }, place))));
  for (let i = 0; i < CANCELS; i += AT_ONCE) {
    const outcomes = ids.slice(i, i + AT_ONCE).map(async (id) => {
      const statuses = await Promise.all(Array.from({ length: RIVALS }, () => cancel(id)));
      return statuses.sort();
    });
    expect(await Promise.all(outcomes)).toEqual(outcomes.map(() => [204, 409, 409]));
  }
  const cancelled = new Set(await findCancelled());
  expect(ids.filter((id) => !cancelled.has(id))).toEqual([]);
});

test('a standby that is behind holds up commits, so that no list lacks what was acknowledged', async () => {
  const id = await place();
  await query(storage.reader.url, 'select pg_wal_replay_pause()');
  expect(await cancel(id)).toBe(503);
  expect(await findCancelled()).not.toContain(id);
  await query(storage.reader.url, 'select pg_wal_replay_resume()');
  await expect.poll(() => findCancelled(), PATIENTLY).toContain(id);
});

test('a standby that hangs is left out, and commits go on by the spare one', async () => {
  const id = await place();
  storage.reader.pause();
  await expect
    .poll(
      () =>
        list()
          .catch(() => [])
          .then((orders) => orders.at(-1)?.id),
      PATIENTLY,
    )
    .toBe(id);
  await expect.poll(() => place().then(list, () => undefined), PATIENTLY).toBeDefined();
  storage.reader.resume();
  await expect.poll(() => isReadFrom(storage), PATIENTLY).toBe(true);
});

test('when the primary is back, all goes on', async () => {
  const id = await place();
  await storage.primary.kill();
  expect(await cancel(id), lastFailure()).toBe(503);
  await storage.primary.restart();
  await expect.poll(() => cancel(id), PATIENTLY).toBe(204);
  // The spare standby may be connected again before the one that is read from.
  await expect.poll(findCancelled, PATIENTLY).toContain(id);
});

test('without the standby commits go on by the spare one, and the primary is read', async () => {
  await storage.reader.kill();
  // What was under way there fails, and so does what comes until Pgpool-II has noticed.
  await expect.poll(() => place().then(list, () => undefined), PATIENTLY).toBeDefined();
  const id = await place();
  expect((await list()).at(-1)?.id).toBe(id);
  expect(await cancel(id)).toBe(204);
});

test('once it is back, servers that start then read from it', async () => {
  await storage.reader.restart();
  await expect.poll(() => isReadFrom(storage), PATIENTLY).toBe(true);
  await start();
  const before = await countRowsRead(storage.reader);
  // Lists are read from the primary until Pgpool-II has measured, once a second, that the standby has caught up.
  const listAndCount = () => list().then(() => countRowsRead(storage.reader));
  await expect.poll(listAndCount, PATIENTLY).toBeGreaterThan(before + ORDERS_BEFORE / 2);
  const id = await place();
  expect((await list()).at(-1)?.id).toBe(id);
});
