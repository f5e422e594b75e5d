import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import { openPersistence } from '@petstore/persistence';
import { PATIENCE_MS, PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { createKey, createServerDatabase, placeOrder, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw, request } from './support/raw-http.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { mutate, query, subscribe } from './support/trpc-calls.ts';

const shared = await useTestApp();

describe('orders.events', () => {
  test('sends every change of an order, with the order as it then was, as tRPC tracks events, and costs one call', async () => {
    await using app = await startTestApp();
    const { text: key } = await createKey(app.persistence, { kind: 'internal', plan: { name: 'free' } });
    await using following = await subscribe(app, undefined, { key });
    expect(following).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': expect.stringContaining('no-cache'),
        'x-accel-buffering': 'no', // nginx would hold events back
        'x-ratelimit-remaining': '59',
      },
    });
    const { data } = await mutate(app, 'orders.place', { petId: 2n ** 62n, quantity: 2 }, { key: app.internalKey });
    const placed = data as { id: bigint; placedAt: Date }; // an order
    expect(await following.next()).toEqual({
      event: undefined,
      id: '1',
      data: { id: '1', type: 'order.placed', orderId: placed.id, at: placed.placedAt, order: placed },
    });
  });

  test('goes on behind `after`, and Last-Event-ID wins', async () => {
    await using app = await startTestApp();
    await placeOrder(app.persistence, 'ship', 'complete');
    await using all = await subscribe(app, { after: '0' });
    expect(await all.take(3)).toEqual(['1 order.placed', '2 order.shipped', '3 order.completed']);
    await using last = await subscribe(app, { after: '0' }, { headers: { 'last-event-id': '2' } });
    expect(await last.take(1)).toEqual(['3 order.completed']);
  });

  test('is called over GET, by itself and as server-sent events', async () => {
    const post = await mutate(shared, 'orders.events', {}, { key: shared.internalKey });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, OPTIONS']);
    const batch = await query(shared, 'orders.events,orders.get', {}, { key: shared.internalKey });
    expect(batch.status).toBe(404);
    const inBatch = await shared.fetch('/trpc/orders.events?batch=1', { key: shared.internalKey });
    expect([inBatch.status, await inBatch.text()]).toEqual([400, expect.stringContaining('invalid_request')]);
    const jsonl = await shared.fetch('/trpc/orders.events', {
      key: shared.internalKey,
      headers: { 'trpc-accept': 'application/jsonl' },
    });
    expect([jsonl.status, jsonl.headers.get('content-type')]).not.toEqual([200, 'text/event-stream']);
    expect(await jsonl.text()).toContain('"error"');
    await vi.waitFor(() => expect(shared.persistence.events.followerCount).toBe(0), PATIENTLY);
  });
});

describe('a subscription', () => {
  test('takes no room of requests, and has a bound of its own', async () => {
    await using app = await startTestApp({ bounds: { maxSubscriptions: 3, maxRequestsInFlight: 2 } });
    const plan = { kind: 'internal', plan: planOf(100) } as const;
    const { text: key } = await createKey(app.persistence, plan);
    const open = [];
    for (let i = 0; i < 3; i++) open.push(await subscribe(app, undefined, { key }));
    expect((await app.fetch('/v1/store/orders')).status).toBe(200);
    await using further = await subscribe(app, undefined, { key });
    expect(further.status).toBe(503);
    for (const each of open) await each[Symbol.asyncDispose]();
  });

  test('ends within 5 s of the revocation of its key, and others go on', async () => {
    await using app = await startTestApp();
    const { id, text: key } = await createKey(app.persistence, { kind: 'internal', plan: planOf(100) });
    await using revoked = await subscribe(app, undefined, { key });
    await using other = await subscribe(app);
    await app.persistence.keyAdministration.revokeKey(id, new Date());
    const begin = performance.now();
    expect(await revoked.rest()).toEqual([]);
    expect(performance.now() - begin).toBeLessThan(5_000);
    await placeOrder(app.persistence);
    expect(await other.take(1)).toEqual(['1 order.placed']);
    expect(app.persistence.events.followerCount).toBe(1);
  });

  test('ends at once when the revocation of its key is announced, before it would be looked up', async () => {
    await using app = await startTestApp();
    const { id, text: key } = await createKey(app.persistence, { kind: 'internal', plan: planOf(100) });
    await using revoked = await subscribe(app, undefined, { key });
    const begin = performance.now();
    await app.persistence.keyAdministration.revokeKey(id, new Date());
    app.forgetKey(id);
    expect(await revoked.rest()).toEqual([]);
    expect(performance.now() - begin).toBeLessThan(1_900);
  });

  test('ends without a word when the server ends, so that its client goes on elsewhere', async () => {
    const app = await startTestApp();
    const following = await subscribe(app);
    await vi.waitFor(() => expect(app.persistence.events.followerCount).toBe(1), PATIENTLY);
    const begin = performance.now();
    const closed = app.app.close();
    expect(await following.rest()).toEqual([]);
    await closed;
    expect(performance.now() - begin).toBeLessThan(3_000);
    expect(app.persistence.events.followerCount).toBe(0);
    await app[Symbol.asyncDispose]();
  });

  test('of the client package goes on at the next server, and misses nothing of what happened in between', async () => {
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

  test('that has not begun when its client leaves, or the server ends, is no failure', async () => {
    await using database = await createServerDatabase();
    await using app = await startTestApp({ databaseUrl: database.url });
    await using resources = new AsyncDisposableStack();
    const writer = resources.adopt(new pg.Client({ connectionString: database.url }), (client) => client.end());
    await writer.connect();
    await writer.query('begin; lock table order_events in row exclusive mode'); // a subscription waits for it
    const follow = async () => {
      const headers = { authorization: `Bearer ${app.internalKey}` };
      const request = get(`${app.origin}/trpc/orders.events`, { agent: false, headers }).on('error', () => {});
      await once(request, 'finish');
      await sleep(300);
      return request;
    };
    (await follow()).destroy();
    await vi.waitFor(() => expect(app.logLines.map(({ msg }) => msg)).toContain('request completed'), PATIENTLY);
    await follow();
    await app.app.close();
    // A machine that stands still for seconds would have PostgreSQL taken for hung, which is a failure of another kind.
    expect(app.errorCodes.filter((code) => code !== 'service_unavailable')).toEqual([]);
    expect(app.logLines.filter(({ err }) => err !== undefined)).toEqual([]);
  });

  test('whose client does not read is cut, and goes on later where it was', async () => {
    await using app = await startTestApp({ bounds: { slowReaderTimeoutMs: 1_000 } });
    await app.persistence.orders.generateOrders({ count: 60_000, seed: 1, now: new Date() });
    const idle = await subscribe(app, { after: '0' });
    await vi.waitFor(() => expect(app.persistence.events.followerCount).toBe(0), { timeout: 20_000, interval: 100 });
    await idle[Symbol.asyncDispose]();
    expect(app.logLines.map(({ msg }) => msg)).toContain('a response was cut off: the client read too slowly');
    await using later = await subscribe(app, { after: '59999' });
    expect(await later.take(1)).toEqual(['60000 order.imported']);
  });
});

test('a fragment, which no request may have, hides no subscription from its bounds', async () => {
  await using app = await startTestApp({ bounds: { maxSubscriptions: 1 } });
  using connection = await openRaw({ port: app.port });
  connection.write(request('/trpc/orders.events?x=1#&batch=1', app.internalKey));
  await once(connection.socket, 'data');
  expect(app.app.traffic.requestsInFlight.count).toBe(0);
  await using second = await subscribe(app);
  expect(second.status).toBe(503);
});

describe('GET /v2/store/order-events', () => {
  const get = (app: TestApp, query: string, key = app.key) => app.fetch(`/v2/store/order-events?${query}`, { key });

  test('costs one request, whatever it holds, and no more for HEAD', async () => {
    await using app = await startTestApp({ orders: 1_000 });
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const responses = [
      await get(app, 'after=0&limit=1000', key),
      await get(app, 'after=1000', key),
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
    await expectError(await get(app, 'after=1'), 'events_expired');
    for (const query of ['', 'after=0', 'after=2']) {
      expect(await (await get(app, query)).json()).toEqual({ events: [], nextAfter: '2' });
    }
    await placeOrder(app.persistence);
    expect(await (await get(app, 'after=2')).json()).toMatchObject({ events: [{ id: '3' }], nextAfter: '3' });
    await expectError(await get(app, 'after=4'), 'invalid_request');
  });
});
