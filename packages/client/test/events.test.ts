import { INT64_MAX, INT64_MIN, orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { PATIENTLY, startHttpServer } from '@petstore/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  EventsExpiredError,
  InvalidRequestError,
  type OrderEvent,
  PermissionError,
  type PetstoreClient,
  ServiceError,
} from '../src/index.ts';
import type { OrderEventV2 } from '../src/rest.ts';
import { createTestClient, createTestRestClient, TestClock } from './support/test-clients.ts';
import { type Fault, startTestService, type TestService } from './support/test-service.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service[Symbol.asyncDispose]());
beforeEach(() => {
  service.requests.length = 0;
  service.faults.length = 0;
});

/** A client whose waits are the longest that it may draw. */
const clientOf = ({ origin }: Pick<TestService, 'origin'>, apiKey = 'internal', clock = new TestClock()) =>
  createTestClient({ baseUrl: origin, apiKey, clock, random: () => 0.999_999 });

/** Records as many events. */
const generate = ({ persistence }: TestService, count: number) =>
  persistence.orders.generateOrders({ count, seed: 1, now: NOW });

/** The ids of the next so many events. */
async function takeIds(events: AsyncIterator<OrderEvent | OrderEventV2>, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { done, value } = await events.next();
    if (done === true) throw new Error(`It ended after ${ids.length} events.`);
    ids.push(value.id);
  }
  return ids;
}

const isFollowed = ({ persistence }: TestService, count = 1) =>
  vi.waitFor(() => expect(persistence.events.followerCount).toBe(count), PATIENTLY);

describe('client.events()', () => {
  test('gives each change of an order, typed, with the order as it then was', async () => {
    await using fresh = await startTestService();
    const client = clientOf(fresh);
    const events = client.events({ after: '0' });
    const first = events.next();
    const placed = await client.orders.place.mutate({ petId: 2n ** 62n, quantity: 2 });
    const shipped = await client.orders.ship.mutate({ orderId: placed.id });
    expect((await first).value).toEqual({
      id: '1',
      type: 'order.placed',
      orderId: placed.id,
      at: placed.placedAt,
      order: placed,
    });
    expect((await events.next()).value).toMatchObject({ id: '2', type: 'order.shipped', order: shipped });
    expectTypeOf<OrderEvent['at']>().toEqualTypeOf<Date>();
    expectTypeOf<OrderEvent['orderId']>().toExtend<bigint>();
    await events.return();
  });

  test.each<[string, readonly Fault[], number[]]>([
    ['breaks off', ['cut-response', 'cut-response', 'cut-response'], [500, 1_000, 2_000]],
    ['is refused', ['unavailable', 'overloaded', 'unavailable', 'overloaded'], [5_000, 1_000, 5_000, 4_000]],
  ])('misses nothing where its connection %s, and backs off', async (_, faults, waitsMs) => {
    const clock = new TestClock();
    await using fresh = await startTestService();
    await generate(fresh, 20);
    fresh.faults.push(...faults);
    const events = clientOf(fresh, 'internal', clock).events({ after: '0' });
    const ids = await takeIds(events, 12);
    expect(clock.waits.map(Math.round)).toEqual(waitsMs);
    fresh.endConnections();
    await generate(fresh, 5);
    ids.push(...(await takeIds(events, 13)));
    expect(ids).toEqual(Array.from({ length: 25 }, (__, index) => String(index + 1)));
    expect(fresh.requests.length).toBeGreaterThan(faults.length + 1);
    await events.return();
  });

  test('backs off where each connection ends as soon as it has begun, until one lasts', async () => {
    const begun = 'event: connected\ndata: {}\n\nevent: ping\ndata: \nid: 7\n\n';
    const ping = 'event: ping\ndata: \n\n';
    let connections = 0;
    await using server = await startHttpServer((_, response) => {
      connections++;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (connections < 7) response.end(connections === 4 ? begun + ping : begun);
    });
    const clock = new TestClock();
    const stop = new AbortController();
    const next = clientOf(server, 'internal', clock).events({ signal: stop.signal }).next();
    await vi.waitUntil(() => connections === 7, PATIENTLY);
    expect(clock.waits.map(Math.round)).toEqual([500, 1_000, 2_000, 500, 1_000, 2_000]);
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });

  test('ends its request when its reader leaves the loop', async () => {
    await using fresh = await startTestService();
    await generate(fresh, 3);
    for await (const { id } of clientOf(fresh).events({ after: '0' })) {
      expect(id).toBe('1');
      await isFollowed(fresh);
      break;
    }
    await isFollowed(fresh, 0);
    expect(fresh.requests).toHaveLength(1);
  });

  test('ends with the reason of its signal while it waits for an event', async () => {
    const stop = new AbortController();
    const ended = clientOf(service).events({ signal: stop.signal }).next();
    await isFollowed(service);
    stop.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    await isFollowed(service, 0);
  });

  test('ends with the reason of its signal while it waits to try again', async () => {
    service.faults.push('overloaded');
    const stop = new AbortController();
    const clock = new TestClock().hold();
    const ended = clientOf(service, 'internal', clock).events({ signal: stop.signal }).next();
    await vi.waitUntil(() => clock.waitCount === 1, PATIENTLY);
    stop.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    expect(clock.scheduledCount).toBe(0);
    expect(service.requests).toHaveLength(1);
  });

  test('ends its request when its signal aborts while its reader is busy', async () => {
    await using fresh = await startTestService();
    await generate(fresh, 3);
    const stop = new AbortController();
    const events = clientOf(fresh).events({ after: '0', signal: stop.signal });
    expect(await takeIds(events, 1)).toEqual(['1']);
    await isFollowed(fresh);
    stop.abort(new Error('enough'));
    await isFollowed(fresh, 0);
  });

  test.each([
    ['an event', 'data: {"json":\n\n'],
    ['an event of another format', 'data: null\n\n'],
    ['an error', 'event: serialized-error\ndata: <html>\n\n'],
    ['an error of another format', 'event: serialized-error\ndata: {"json":null}\n\n'],
  ])('fails as any call if something in between has changed %s', async (_, message) => {
    let connections = 0;
    await using server = await startHttpServer((_request, response) => {
      connections++;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'request-1' }).end(message);
    });
    const failure = await clientOf(server)
      .events()
      .next()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ServiceError);
    expect(failure).toMatchObject({ code: 'unexpected_response', status: 200, requestId: 'request-1' });
    expect(connections).toBe(1);
  });

  test('fails where trying again would not help', async () => {
    await using fresh = await startTestService();
    await generate(fresh, 2);
    await fresh.persistence.events.deleteExpired({
      eventsBefore: new Date(Date.now() + 1_000),
      now: new Date(),
      signal: AbortSignal.timeout(10_000),
    });
    const next = (after: string, apiKey?: string) => clientOf(fresh, apiKey).events({ after }).next();
    const expired = next('1');
    await expect(expired).rejects.toThrow(EventsExpiredError);
    await expect(expired).rejects.toMatchObject({ code: 'events_expired', status: 410, requestId: 'request-1' });
    await expect(next('x')).rejects.toThrow(InvalidRequestError);
    await expect(next('99')).rejects.toThrow(InvalidRequestError);
    await expect(next('0', 'external')).rejects.toThrow(PermissionError);
    await expect(next('0', 'nobody')).rejects.toMatchObject({ code: 'invalid_api_key', status: 401 });
    expect(fresh.requests).toHaveLength(5);
  });
});

test('events are followed in one way: a subscription by callbacks is no part of the client', () => {
  expectTypeOf<PetstoreClient['orders']>().not.toHaveProperty('events');
  expectTypeOf<PetstoreClient['events']>().returns.toExtend<AsyncIterable<OrderEvent>>();
});

describe('client.rest.v2.orderEvents()', () => {
  const POLL_MS = 180_000;

  let clock: TestClock;
  beforeEach(() => {
    clock = new TestClock();
  });

  /** It gives up nothing by itself: following goes on whatever `maxRetries` says. */
  const v2Of = (baseUrl: string, apiKey = 'external') =>
    createTestRestClient({ baseUrl, apiKey, maxRetries: 0, clock, random: () => 0 }).v2;

  const place = ({ persistence }: TestService) =>
    persistence.orders.insertOrder(
      { petId: petId(7n), quantity: 2, placedAt: NOW, status: 'pending', complete: false },
      SERVICE_ORIGIN,
    );

  const numbersTo = (last: number) => Array.from({ length: last }, (_, i) => String(i + 1));

  test('gives each change with its position, ids being exact', async () => {
    await using service = await startTestService();
    const { orders } = service.persistence;
    await orders.importOrders(
      (async function* () {
        const value = { id: orderId(INT64_MAX), petId: petId(INT64_MIN), quantity: 2, placedAt: NOW } as const;
        yield { line: 1, value: { ...value, status: 'pending', complete: false } };
      })(),
    );
    await orders.applyCommand(orderId(INT64_MAX), 'cancel', NOW, SERVICE_ORIGIN);
    const order = { id: INT64_MAX, petId: INT64_MIN, quantity: 2, complete: false };
    const events = v2Of(service.origin, 'read-only').orderEvents({ after: '0' });
    const change = { orderId: INT64_MAX, at: NOW.toISOString() };
    expect((await events.next()).value).toEqual({
      id: '1',
      type: 'order.imported',
      ...change,
      order: { ...order, status: 'pending' },
    });
    expect((await events.next()).value).toEqual({
      id: '2',
      type: 'order.cancelled',
      ...change,
      order: { ...order, status: 'cancelled' },
    });
    await events.return();
  });

  test('asks at once again while there is more, and then every 3 minutes', async () => {
    await using service = await startTestService();
    await generate(service, 2_500);
    clock.hold();
    const events = v2Of(service.origin).orderEvents({ after: '0' });
    const taken = takeIds(events, 2_501);
    await vi.waitUntil(() => clock.waitCount === 1, PATIENTLY);
    expect(clock.waits).toEqual([POLL_MS]);
    await place(service);
    clock.release();
    expect(await taken).toEqual(numbersTo(2_501));
    const asked = (after: number) => `GET /v2/store/order-events?after=${after}&limit=1000`;
    expect(service.requests).toEqual([0, 1_000, 2_000, 2_500].map(asked));
  });

  test('asks as often as it is told to', async () => {
    await using service = await startTestService();
    const taken = takeIds(v2Of(service.origin).orderEvents({ after: '0', pollIntervalMs: 5_000 }), 1);
    await vi.waitUntil(() => clock.waits.length >= 3, PATIENTLY);
    await place(service);
    expect(await taken).toEqual(['1']);
    expect(new Set(clock.waits)).toEqual(new Set([5_000]));
  });

  test('begins with what comes from then on, and says where', async () => {
    await using service = await startTestService();
    await generate(service, 3);
    const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
    const taken = takeIds(v2Of(service.origin).orderEvents({ onBegin }), 1);
    expect(await begun).toBe('3');
    await place(service);
    expect(await taken).toEqual(['4']);
    const later = vi.fn();
    expect(await takeIds(v2Of(service.origin).orderEvents({ after: '2', onBegin: later }), 2)).toEqual(['3', '4']);
    expect(later.mock.calls).toEqual([['2']]);
  });

  test('goes on after failures, each change once, and does not give up', async () => {
    await using service = await startTestService();
    await generate(service, 1_200);
    service.faults.push('unavailable', 'lose-response', 'overloaded', 'lose-response', 'unavailable');
    expect(await takeIds(v2Of(service.origin).orderEvents({ after: '0' }), 1_200)).toEqual(numbersTo(1_200));
    expect(service.requests).toHaveLength(7);
    expect(clock.waits.every((waitMs) => waitMs <= 8_000)).toBe(true);
  });

  test('waits for as long as the service asks, and longer than other calls would', async () => {
    const afters: unknown[] = [];
    await using server = await startHttpServer(({ url = '' }, response) => {
      afters.push(new URL(url, 'http://x').searchParams.get('after'));
      const isFirst = afters.length === 1;
      response.writeHead(isFirst ? 429 : 200, { 'content-type': 'application/json', 'retry-after': '4000' });
      const page = { events: [], nextAfter: '7' };
      response.end(JSON.stringify(isFirst ? { code: 'rate_limit_exceeded', message: 'x', status: 429 } : page));
    });
    clock.hold();
    const stop = new AbortController();
    const next = v2Of(server.origin).orderEvents({ after: '7', signal: stop.signal }).next();
    await vi.waitUntil(() => clock.waitCount === 1, PATIENTLY);
    expect(clock.waits).toEqual([4_000_000]);
    clock.release();
    await vi.waitUntil(() => afters.length >= 3, PATIENTLY);
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(new Set(afters)).toEqual(new Set(['7']));
  });

  test('ends with the reason of its signal: in a pause, and between two events', async () => {
    await using service = await startTestService();
    await generate(service, 3);
    clock.hold();
    const inPause = new AbortController();
    const paused = v2Of(service.origin).orderEvents({ signal: inPause.signal }).next();
    await vi.waitUntil(() => clock.waitCount === 1, PATIENTLY);
    inPause.abort(new Error('enough'));
    await expect(paused).rejects.toThrow('enough');
    expect(clock.scheduledCount).toBe(0);
    const between = new AbortController();
    const events = v2Of(service.origin).orderEvents({ after: '0', signal: between.signal });
    await events.next();
    between.abort(new Error('enough'));
    await expect(events.next()).rejects.toThrow('enough');
  });

  test.each(['{"events":[]}', '{"nextAfter":"1"}', '[]', '<html>', '{"events":[{"id":"1"}],"nextAfter":"1"}'])(
    'takes no other response for a page: %s',
    async (body) => {
      await using server = await startHttpServer((_, response) => void response.writeHead(200).end(body));
      const next = v2Of(server.origin).orderEvents({ after: '0' }).next();
      await expect(next).rejects.toThrow(ServiceError);
      await expect(next).rejects.toMatchObject({ code: 'unexpected_response', status: 200 });
    },
  );

  test.each([
    [{ pollIntervalMs: 0 }, 'pollIntervalMs must be a number, at least 1'],
    [{ pollIntervalMs: Number.NaN }, 'pollIntervalMs must be a number, at least 1'],
    [{ after: 1n as unknown as string }, 'after must be the id of an event, a string'],
    [{ timeoutMs: 0 }, 'timeoutMs must be a number, at least 1'],
  ])('refuses %o at once', (options, message) => {
    expect(() => v2Of('http://127.0.0.1:9').orderEvents(options)).toThrow(new TypeError(message));
  });
});
