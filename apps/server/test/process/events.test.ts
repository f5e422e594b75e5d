import { createPetstoreClient, EventsExpiredError } from '@petstore/client';
import { PATIENTLY, startRedisServer } from '@petstore/testing';
import { afterAll, expect, test, vi } from 'vitest';
import { createServerDatabase, KEYS } from '../support/database.ts';
import { type SpawnedServer, startServer } from '../support/spawned-server.ts';

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
const redis = resources.use(await startRedisServer());
const database = resources.use(await createServerDatabase());

async function start(): Promise<SpawnedServer> {
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, EVENTS_RETENTION: '1s' };
  return resources.use(await startServer(environment)).server;
}

const clientOf = async (server: SpawnedServer) =>
  createPetstoreClient({ baseUrl: await server.url(), apiKey: KEYS.internal.text });

test('a server delivers events of another one, counts them, and deletes them after EVENTS_RETENTION', async () => {
  const [writing, reading] = await Promise.all([start(), start()]);
  const [writer, reader] = await Promise.all([clientOf(writing), clientOf(reading)]);
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
  const events = reader.events({ onBegin });
  const first = events.next();
  const followers = async () => (await reading.metrics()).get('petstore_order_event_subscribers');
  await begun;
  expect(await followers()).toBe(1);
  const order = await writer.orders.place.mutate({ petId: 7n, quantity: 1 });
  await writer.orders.ship.mutate({ orderId: order.id });
  expect((await first).value).toMatchObject({ type: 'order.placed', orderId: order.id });
  expect((await events.next()).value).toMatchObject({ type: 'order.shipped', orderId: order.id });
  const [written, read] = await Promise.all([writing.metrics(), reading.metrics()]);
  expect(written.get('petstore_order_events_recorded_total')).toBe(2);
  expect(written.get('petstore_order_events_delivered_total')).toBe(0);
  expect(read.get('petstore_order_events_recorded_total')).toBe(0);
  expect(read.get('petstore_order_events_delivered_total')).toBe(2);
  expect(read.get('petstore_order_event_lag_seconds')).toBeLessThan(2);
  await vi.waitFor(
    async () => {
      const begun = reader.events({ after: '1', signal: AbortSignal.timeout(1_000) });
      await expect(begun.next()).rejects.toThrow(EventsExpiredError);
    },
    { timeout: 20_000, interval: 200 },
  );
  await events.return();
  await vi.waitFor(async () => expect(await followers()).toBe(0), PATIENTLY);
});
