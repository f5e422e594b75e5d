import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import { createServerDatabase, importDemoOrders, KEYS, startServer } from '@petstore/server/test-support';
import { createTestRedis } from '@petstore/testing';
import pg from 'pg';
import { vi } from 'vitest';
import type { FaultBook } from '../support/fault-book.ts';
import type { Observed } from '../support/scrape.ts';
import { WatchedServer } from '../support/watched-server.ts';

const PATIENTLY = { timeout: 30_000, interval: 100 };
const TEN_DAYS_MS = 10 * 86_400_000;
/** Keeps most of the heap in use. The young generation is small, so that the limit is that of the old one. */
const LEAKING = `--max-old-space-size=200 --max-semi-space-size=1 --import=${new URL('./leak.ts', import.meta.url)}`;

/** What concerns processes, and two servers beside each other. */
export async function recordFaultsOfProcesses(book: FaultBook): Promise<void> {
  await using database = await createServerDatabase();
  await using redis = await createTestRedis();
  await importDemoOrders(database.url);
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const start = async (more: Record<string, string> = {}) => {
    const { server } = await startServer({ ...environment, ...more });
    return WatchedServer.of(server);
  };
  const [one, other] = [await start(), await start()];
  const [healthy, healthyOther] = await Promise.all([one.observe(), other.observe()]);

  await followEvents(book, { watched: one, healthy, databaseUrl: database.url });

  const starving = starve(one);
  book.add('processor taken away', { healthy, faulty: await one.observe({ ms: 4_000, isLate: true }) });
  await book.follow('event-loop-lag', { watched: one, environment });
  await starving[Symbol.asyncDispose]();

  await one.server.stop('SIGKILL');
  book.add('one server killed', { healthy, faulty: 'down' }, { healthy: healthyOther, faulty: await other.observe() });
  await book.follow('server-unavailable', { watched: one, environment });
  await other.server.stop('SIGKILL');
  book.add('all servers killed', { healthy, faulty: 'down' }, { healthy: healthyOther, faulty: 'down' });
  await book.follow('down', { watched: one, environment });

  const faulty: Observed[] = [];
  for (let i = 0; i < 3; i++) {
    const again = await start();
    faulty.push(await again.observe({ ms: 500 }));
    if (i === 2) await book.follow('restarting', { watched: again, environment });
    await again.server.stop('SIGKILL');
  }
  book.add('server restarted', { healthy, faulty });
  book.addHealth([healthy, faulty[0] as Observed], healthyOther); // there are three

  const leaking = await start({ NODE_OPTIONS: LEAKING });
  book.add('memory leaks', { healthy, faulty: await leaking.observe() });
  await book.follow('memory-near-limit', { watched: leaking, environment });
  await leaking.server.stop();

  const ending = await start({ PETS_SUNSET_AT: new Date(Date.now() + TEN_DAYS_MS).toISOString().slice(0, 10) });
  book.add('sunset in ten days', { healthy, faulty: await ending.observe() });
  await book.follow('sunset-near', { watched: ending, environment, names: { W2XCWm6f: KEYS.unlimited.id } });
  await ending.server.stop();
}

/** A client that follows orders, and a transaction that holds its events back. */
async function followEvents(
  book: FaultBook,
  { watched, healthy, databaseUrl }: { watched: WatchedServer; healthy: Observed; databaseUrl: string },
): Promise<void> {
  const client = createPetstoreClient({ baseUrl: watched.url, apiKey: KEYS.internal.text });
  const leave = new AbortController();
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
  const following = (async () => {
    for await (const _ of client.events({ onBegin, signal: leave.signal }));
  })().catch(() => {});
  await begun;
  const writer = new pg.Client(databaseUrl);
  writer.on('error', () => {});
  await writer.connect();
  await writer.query('begin');
  await writer.query(
    `insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
     values ('order.imported', now(), 'operator:ann', 77, 7, 1, 'pending', false, now())`,
  );
  await client.orders.place.mutate({ petId: 7n, quantity: 1 }); // delivered after the one that is not committed
  const lag = 'petstore_order_event_lag_seconds';
  await vi.waitUntil(async () => (await watched.read(lag)) > 0, PATIENTLY);
  book.add('transaction open', { healthy, faulty: await watched.observe({ ms: 2_000 }), growing: [lag] });
  await book.follow('events-late', { watched, environment: { DATABASE_URL: databaseUrl } });
  await writer.end().catch(() => {});
  leave.abort();
  await following;
}

/** Takes the processor away from a server again and again, as a machine does that has too much to do. */
function starve({ server }: WatchedServer): AsyncDisposable {
  const stop = new AbortController();
  const starving = (async () => {
    while (!stop.signal.aborted) {
      server.process.kill('SIGSTOP');
      await sleep(300);
      server.process.kill('SIGCONT');
      await sleep(100);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await starving;
    },
  };
}
