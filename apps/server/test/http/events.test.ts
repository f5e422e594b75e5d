import { get } from 'node:http';
import { createPetstoreClient } from '@petstore/client';
import type { OrderEventLog } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { PATIENCE_MS, PATIENTLY } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { createKey, createServerDatabase, placeOrder, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { overriding } from './support/replaced-parts.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { encode, mutate, query } from './support/trpc-calls.ts';

const REST = (wait: number) => `/v2/store/order-events?after=0&wait=${wait}`;
const TRPC = (wait: number) =>
  `/trpc/orders.events?input=${encodeURIComponent(encode({ after: '0', waitSeconds: wait }))}`;

const isWaiting = ({ app }: TestApp, count: number) =>
  vi.waitFor(() => expect(app.traffic.waitingCalls.count).toBe(count), PATIENTLY);

describe('orders.events', () => {
  test('gives every change of an order, with the order as it then was, to keys of every kind, and costs one call', async () => {
    await using app = await startTestApp();
    const { text: key } = await createKey(app.persistence, { plan: { name: 'free' } });
    const { data } = await mutate(app, 'orders.place', { petId: 2n ** 62n, quantity: 2 }, { key: app.internalKey });
    const placed = data as { id: bigint; placedAt: Date }; // an order
    const response = await query(app, 'orders.events', { after: '0' }, { key });
    expect(response.headers.get('x-ratelimit-remaining')).toBe('59');
    const event = { id: '1', type: 'order.placed', orderId: placed.id, at: placed.placedAt, order: placed };
    expect(response.data).toEqual({ events: [event], nextAfter: '1' });
  });

  test('counts no wait in a batch of several calls, which would hold up the others', async () => {
    await using app = await startTestApp();
    const input = { after: '0', waitSeconds: 50 };
    const inputs = encodeURIComponent(JSON.stringify({ 0: JSON.parse(encode(input)), 1: JSON.parse(encode(input)) }));
    const begin = performance.now();
    const response = await app.fetch(`/trpc/orders.events,orders.events?batch=1&input=${inputs}`);
    expect(response.status).toBe(200);
    expect(performance.now() - begin).toBeLessThan(5_000);
  });
});

describe.each([
  ['over REST', REST],
  ['over tRPC', TRPC],
])('a call that waits %s', (_, urlOf) => {
  test('is answered with the first change, or empty when its time is over', async () => {
    await using app = await startTestApp();
    const begin = performance.now();
    expect(await (await app.fetch(urlOf(1))).text()).toContain('"events":[]');
    expect(performance.now() - begin).toBeGreaterThan(950);
    const waiting = app.fetch(urlOf(50));
    await isWaiting(app, 1);
    await placeOrder(app.persistence);
    expect(await (await waiting).text()).toContain('"order.placed"');
    expect(app.app.traffic.waitingCalls.count).toBe(0);
  });

  test('is in no bound of what is in flight and in no duration, and one without room is answered at once', async () => {
    await using app = await startTestApp({ bounds: { maxWaitingCalls: 3, maxRequestsInFlight: 2 } });
    const waiting = [];
    for (let count = 1; count <= 3; count++) {
      waiting.push(app.fetch(urlOf(50)));
      await isWaiting(app, count);
    }
    expect(app.app.traffic.requestsInFlight.count).toBe(0);
    const begin = performance.now();
    const further = await app.fetch(urlOf(50));
    expect([further.status, await further.text()]).toEqual([200, expect.stringContaining('"events":[]')]);
    expect(performance.now() - begin).toBeLessThan(5_000);
    await placeOrder(app.persistence);
    await Promise.all(waiting);
    await isWaiting(app, 0);
    await app.fetch('/v2/limits');
    await vi.waitFor(() => expect(app.observed.at(-1)?.operation).toMatch(/limits/i), PATIENTLY);
    expect(app.observed).toHaveLength(2); // this one, and the one that did not wait
  });

  test('frees its place when its caller leaves: 64 of a key wait, and after they have left the next one waits', async () => {
    await using app = await startTestApp();
    const headers = { authorization: `Bearer ${app.key}` };
    const calls = Array.from({ length: 64 }, () =>
      get(app.origin + urlOf(50), { agent: false, headers }).on('error', () => {}),
    );
    await isWaiting(app, 64);
    const beganMs = performance.now();
    expect(await (await app.fetch(urlOf(50))).text()).toContain('"events":[]');
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    for (const call of calls) call.destroy();
    await isWaiting(app, 0);
    const next = app.fetch(urlOf(50));
    await isWaiting(app, 1);
    await placeOrder(app.persistence);
    expect((await next).status).toBe(200);
  });

  test('does not wait if its caller left while events were looked for', async () => {
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
    const readEvents = vi.fn<OrderEventLog['readEvents']>();
    const waitForEvents = vi.fn<OrderEventLog['waitForEvents']>();
    await using app = await startTestApp({
      wrap: {
        events(events) {
          readEvents.mockImplementation((...range) => gone.then(() => events.readEvents(...range)));
          waitForEvents.mockImplementation((...range) => events.waitForEvents(...range));
          return overriding(events, { readEvents, waitForEvents });
        },
      },
    });
    const headers = { authorization: `Bearer ${app.key}` };
    const call = get(app.origin + urlOf(50), { agent: false, headers }).on('error', () => {});
    await vi.waitFor(() => expect(readEvents).toHaveBeenCalled(), PATIENTLY);
    call.destroy();
    await vi.waitFor(() => expect(app.app.traffic.connections.count).toBe(0), PATIENTLY);
    leave();
    await vi.waitFor(() => expect(waitForEvents).toHaveBeenCalled(), PATIENTLY);
    await isWaiting(app, 0);
  });

  test('of a key that is revoked meanwhile is 401 after its wait', async () => {
    await using app = await startTestApp();
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(100) });
    const waiting = app.fetch(urlOf(50), { key });
    await isWaiting(app, 1);
    await app.persistence.keyAdministration.revokeKey(id, new Date());
    app.forgetKey(id); // as announced
    await placeOrder(app.persistence);
    expect((await waiting).status).toBe(401);
  });

  test('is answered when the server stops, on a connection that then closes, and nobody waits from then on', async () => {
    await using app = await startTestApp();
    const waiting = app.fetch(urlOf(50));
    await isWaiting(app, 1);
    app.app.traffic.connections.beginClosing();
    app.app.traffic.waitingCalls.close();
    for (const response of [await waiting, await app.fetch(urlOf(50))]) {
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
      expect(await response.text()).toContain('"events":[]');
    }
  });
});

test('HEAD does not wait', async () => {
  await using app = await startTestApp();
  const begin = performance.now();
  expect((await app.fetch(REST(50), { method: 'HEAD' })).status).toBe(200);
  expect(performance.now() - begin).toBeLessThan(5_000);
});

test('the client goes on at the next server, and misses nothing of what happened in between', async () => {
  await using database = await createServerDatabase();
  const first = await startTestApp({ databaseUrl: database.url });
  const { port, origin, internalKey } = first;
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
  const events = createPetstoreClient({ baseUrl: origin, apiKey: internalKey }).events({ onBegin });
  const next = events.next();
  expect(await begun).toBe('0');
  await first[Symbol.asyncDispose]();
  await using between = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  await placeOrder(between, 'ship');
  await using second = await startTestApp({ databaseUrl: database.url, port });
  expect((await next).value).toMatchObject({ id: '1', type: 'order.placed' });
  expect((await events.next()).value).toMatchObject({ id: '2', type: 'order.shipped' });
  await placeOrder(second.persistence);
  expect((await events.next()).value).toMatchObject({ id: '3', type: 'order.placed' });
  await events.return();
});

test('500 calls of ten keys wait at a time and get the next change, while others are served', async () => {
  await using app = await startTestApp();
  const keys = await Promise.all(Array.from({ length: 10 }, () => createKey(app.persistence, { plan: planOf(1_000) })));
  for (const { text: key } of keys) await app.fetch(REST(0), { key }); // a process bounds calls of keys that it does not know
  const waiting = keys.flatMap(({ text: key }) => Array.from({ length: 50 }, () => app.fetch(REST(50), { key })));
  await isWaiting(app, 500);
  expect((await app.fetch('/v1/store/orders')).status).toBe(200);
  await placeOrder(app.persistence);
  for (const response of await Promise.all(waiting)) expect(await response.text()).toContain('"order.placed"');
});

describe('GET /v2/store/order-events', () => {
  const read = (app: TestApp, query: string, key = app.key) => app.fetch(`/v2/store/order-events?${query}`, { key });

  test('costs one request, whatever it holds, and no more for HEAD', async () => {
    await using app = await startTestApp({ orders: 1_000 });
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const responses = [
      await read(app, 'after=0&limit=1000', key),
      await read(app, 'after=1000', key),
      await app.fetch('/v2/store/order-events?after=0', { method: 'HEAD', key }),
    ];
    const seen = responses.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')]);
    expect(seen).toEqual([
      [200, '9'],
      [200, '8'],
      [200, '7'],
    ]);
  });

  test('tells positions whose events were deleted from those behind which there are none', async () => {
    await using app = await startTestApp({ orders: 2 });
    const now = new Date(Date.now() + 1_000);
    await app.persistence.events.deleteExpired({ eventsBefore: now, now, signal: new AbortController().signal });
    await expectError(await read(app, 'after=1'), 'events_expired');
    for (const query of ['', 'after=0', 'after=2']) {
      expect(await (await read(app, query)).json()).toEqual({ events: [], nextAfter: '2' });
    }
    await placeOrder(app.persistence);
    expect(await (await read(app, 'after=2')).json()).toMatchObject({ events: [{ id: '3' }], nextAfter: '3' });
    await expectError(await read(app, 'after=4'), 'invalid_request');
    const { message } = await (await read(app, 'after=0&wait=51')).json();
    expect(message).toBe('wait: must be a whole number from 0 to 50.');
  });
});
