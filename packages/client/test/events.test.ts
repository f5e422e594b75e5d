import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENTLY } from '@petstore/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  EventsExpiredError,
  InvalidRequestError,
  type OrderEvent,
  PermissionError,
  type PetstoreClient,
  ServiceError,
} from '../src/index.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import { createTestClient } from './support/test-clients.ts';
import { TestClock } from './support/test-clock.ts';
import { type Fault, startTestService, type TestService } from './support/test-service.ts';

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
  createTestClient({ baseUrl: origin, apiKey, clock, timeoutMs: clock.timeoutMs, random: () => 0.999_999 });

/** Records as many events. */
const generate = ({ persistence }: TestService, count: number) =>
  persistence.orders.generateOrders({ count, seed: 1, now: new Date() });

/** The ids of the next so many events. */
async function takeIds(events: AsyncIterator<OrderEvent>, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { done, value } = await events.next();
    if (done === true) throw new Error(`It ended after ${ids.length} events.`);
    ids.push(value.id);
  }
  return ids;
}

/** Records events until something comes of it: who has joined may have yet to find out where the log ends. */
async function generateUntil(outcome: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = outcome.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await generate(service, 1);
    await Promise.race([over, sleep(100)]);
  }
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

  test.each<[string, readonly Fault[]]>([
    ['breaks off', ['cut-response', 'cut-response', 'cut-response']],
    ['is refused for a while', ['unavailable', 'overloaded', 'unavailable', 'overloaded']],
  ])('misses nothing where its connection %s', async (_, faults) => {
    await using fresh = await startTestService();
    await generate(fresh, 20);
    fresh.faults.push(...faults);
    const events = clientOf(fresh).events({ after: '0' });
    const ids = await takeIds(events, 12);
    fresh.endConnections();
    await generate(fresh, 5);
    ids.push(...(await takeIds(events, 13)));
    expect(ids).toEqual(Array.from({ length: 25 }, (__, index) => String(index + 1)));
    expect(fresh.requests.length).toBeGreaterThan(faults.length + 1);
    await events.return();
  });

  test('backs off where each connection ends before it has begun', async () => {
    const clock = new TestClock();
    service.faults.push('cut-response', 'cut-response', 'cut-response', 'cut-response');
    const events = clientOf(service, 'internal', clock).events();
    const next = events.next();
    await vi.waitUntil(() => service.requests.length === 5, PATIENTLY);
    await isFollowed(service);
    expect(clock.waits.map(Math.round)).toEqual([500, 1_000, 2_000, 4_000]);
    await generateUntil(next);
    await events.return();
  });

  test('backs off where each connection ends as soon as it has begun, until one lasts', async () => {
    const begun = 'event: connected\ndata: {}\n\nevent: ping\ndata: \nid: 7\n\n';
    const ping = 'event: ping\ndata: \n\n';
    let connections = 0;
    await using server = await startScriptedServer((_, response) => {
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
    const follow = async () => {
      for await (const { id } of clientOf(service).events()) {
        expect(id).toMatch(/^\d+$/);
        break;
      }
    };
    const left = follow();
    await isFollowed(service);
    await generateUntil(left);
    await isFollowed(service, 0);
    expect(service.requests).toHaveLength(1);
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
    await using server = await startScriptedServer((_request, response) => {
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
