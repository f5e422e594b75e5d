import { readFileSync } from 'node:fs';
import {
  hasFixedLimits,
  INT64_MAX,
  INT64_MIN,
  orderId,
  PLAN_NAMES,
  PLANS,
  petId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { PATIENTLY, startHttpServer } from '@petstore/testing';
import { beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import {
  EventsExpiredError,
  type FollowEventsOptions,
  InvalidRequestError,
  type OrderEvent,
  type PetstoreClient,
  ServiceError,
} from '../src/index.ts';
import type { OrderEventV2 } from '../src/rest.ts';
import { createTestClient, TestClock } from './support/test-clients.ts';
import { startTestService, type TestService } from './support/test-service.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const DAY_MS = 86_400_000;

/** A client whose waits are the longest that it may draw. It gives up nothing: following goes on whatever `maxRetries` says. */
const clientOf = ({ origin }: Pick<TestService, 'origin'>, apiKey: string) =>
  createTestClient({ baseUrl: origin, apiKey, maxRetries: 0, clock, random: () => 0.999_999 });

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

let clock: TestClock;
beforeEach(() => {
  clock = new TestClock({ waitTimeoutMs: 60_000 });
});

const place = ({ persistence }: TestService) =>
  persistence.orders.insertOrder(
    { petId: petId(7n), quantity: 2, placedAt: NOW, status: 'pending', complete: false },
    SERVICE_ORIGIN,
  );

const numbersTo = (last: number) => Array.from({ length: last }, (_, i) => String(i + 1));

type Follow = (client: PetstoreClient, options?: FollowEventsOptions) => AsyncGenerator<OrderEvent | OrderEventV2>;
const TRANSPORTS: [string, Follow][] = [
  ['client.events()', (client, options) => client.events(options)],
  ['client.rest.v2.orderEvents()', (client, options) => client.rest.v2.orderEvents(options)],
];

const GUIDE = readFileSync(new URL('../../../docs/guides/follow-orders.md', import.meta.url), 'utf8');

/** How many requests of each plan the guide promises for a day. */
const IN_A_DAY = PLAN_NAMES.filter(hasFixedLimits).map((name) => {
  const { label: plan, limits } = PLANS[name];
  const [, ...counts] = new RegExp(`^\\| ${plan} \\| ([\\d,]+) \\| ([\\d,]+) \\|$`, 'm').exec(GUIDE) ?? [];
  const [quiet = Number.NaN, busy = Number.NaN] = counts.map((count) => Number(count.replace(',', '')));
  return { plan, perDay: limits.perDay, quiet, busy };
});

describe.each(TRANSPORTS)('%s', (_name, followWith) => {
  const follow = (service: Pick<TestService, 'origin'>, options?: FollowEventsOptions, apiKey = 'external') =>
    followWith(clientOf(service, apiKey), options);

  /** How far apart calls begin, in milliseconds, if a key may send so much a day, and each call is answered after so long. */
  async function intervalMsOf(perDay: number, answeredAfterMs: number): Promise<number | undefined> {
    const beganMs: number[] = [];
    const stop = new AbortController();
    const policy = {
      'ratelimit-policy': `"minute";q=60, "day";q=${perDay}`,
      ratelimit: '"minute";r=9;t=9, "day";r=9;t=9',
    };
    const page = { events: [], nextAfter: '7' };
    const fetch = async (url: string | URL | Request): Promise<Response> => {
      if (beganMs.push(clock.now()) === 4) stop.abort(new Error('enough'));
      await new Promise<void>((resolve) => clock.schedule(resolve, answeredAfterMs));
      return Response.json(String(url).includes('/trpc/') ? { result: { data: { json: page } } } : page, {
        headers: policy,
      });
    };
    const client = createTestClient({ baseUrl: 'http://petstore.example.com', apiKey: 'key', clock, fetch });
    await expect(followWith(client, { after: '7', signal: stop.signal }).next()).rejects.toThrow('enough');
    const intervals = new Set(beganMs.slice(1).map((ms, index) => ms - (beganMs[index] ?? 0)));
    expect(intervals.size).toBe(1);
    return [...intervals][0];
  }

  test('gives each change with its position, ids being exact', async () => {
    await using service = await startTestService();
    const { orders } = service.persistence;
    await orders.importOrders(
      (async function* () {
        const value = { id: orderId(INT64_MAX), petId: petId(INT64_MIN), quantity: 2, placedAt: NOW } as const;
        yield { line: 1, value: { ...value, status: 'pending', complete: false } };
      })(),
    );
    const events = follow(service, { after: '0' }, 'read-only');
    const order = { id: INT64_MAX, petId: INT64_MIN, quantity: 2, complete: false, status: 'pending' };
    expect((await events.next()).value).toMatchObject({ id: '1', type: 'order.imported', orderId: INT64_MAX, order });
    const next = events.next();
    await orders.applyCommand(orderId(INT64_MAX), 'cancel', NOW, SERVICE_ORIGIN);
    expect((await next).value).toMatchObject({ id: '2', order: { ...order, status: 'cancelled' } });
    await events.return(undefined);
  });

  test('begins with what comes from then on, and says where', async () => {
    await using service = await startTestService();
    await generate(service, 3);
    const { promise: begun, resolve: onBegin } = Promise.withResolvers<string>();
    const taken = takeIds(follow(service, { onBegin }), 1);
    expect(await begun).toBe('3');
    await place(service);
    expect(await taken).toEqual(['4']);
    const later = vi.fn();
    expect(await takeIds(follow(service, { after: '2', onBegin: later }), 2)).toEqual(['3', '4']);
    expect(later.mock.calls).toEqual([['2']]);
  });

  test('goes on after failures, each change once, and says what it waits for', async () => {
    await using service = await startTestService();
    await generate(service, 1_200);
    service.faults.push('unavailable', 'lose-response', 'overloaded', 'lose-response');
    const onWaiting = vi.fn();
    expect(await takeIds(follow(service, { after: '0', onWaiting }), 1_200)).toEqual(numbersTo(1_200));
    expect(service.requests).toHaveLength(6);
    const codes = onWaiting.mock.calls.map(([failure]) => failure.code);
    expect(codes).toEqual(['service_unavailable', 'connection_failed', 'overloaded', 'connection_failed']);
    expect(onWaiting.mock.calls[0]?.[1]).toBe(5_000); // what the service asks for
  });

  test.each(IN_A_DAY)('sends as many requests a day with $plan as the guide says: $quiet, $busy', async (counts) => {
    const { perDay, quiet, busy } = counts;
    const perDayAfter = async (answeredAfterMs: number) =>
      Math.ceil(DAY_MS / ((await intervalMsOf(perDay, answeredAfterMs)) ?? Number.NaN));
    expect({ quiet: await perDayAfter(50_000), busy: await perDayAfter(0) }).toEqual({ quiet, busy });
    expect(busy).toBeLessThan(perDay / 2);
  });

  test.each([
    { perDay: 1, intervalS: 86_400 },
    { perDay: 1_000, intervalS: 173 },
    { perDay: 3_456, intervalS: 50 },
    { perDay: 1_000_000, intervalS: 1 },
  ])('calls every $intervalS s where $perDay requests a day are allowed', async ({ perDay, intervalS }) => {
    const intervalMs = await intervalMsOf(perDay, 0);
    expect(Math.floor((intervalMs ?? 0) / 1_000)).toBe(intervalS);
  });

  test('waits for as long as the service asks, and longer than other calls would', async () => {
    let requests = 0;
    await using server = await startHttpServer((_, response) => {
      requests++;
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '4000' });
      response.end(JSON.stringify({ code: 'rate_limit_exceeded', message: 'x', status: 429 }));
    });
    clock.hold();
    const stop = new AbortController();
    const refused = vi.fn();
    const next = follow(server, { after: '7', signal: stop.signal, onWaiting: refused }).next();
    await vi.waitUntil(() => refused.mock.calls.length === 1, PATIENTLY);
    expect([requests, refused.mock.calls[0]?.[1]]).toEqual([1, 4_000_000]);
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(clock.scheduledCount).toBe(0);
  });

  test('takes no place of other calls', async () => {
    let waiting = 0;
    const fetch = async (url: string | URL | Request): Promise<Response> => {
      if (!/order-events|orders\.events/.test(String(url))) return Response.json([]);
      waiting++;
      return new Promise(() => {});
    };
    const client = createTestClient({ baseUrl: 'http://petstore.example.com', apiKey: 'key', clock, fetch });
    const stop = new AbortController();
    const options = { after: '0', signal: stop.signal };
    // As many as other calls may have in flight.
    const following = Promise.allSettled(Array.from({ length: 200 }, () => followWith(client, options).next()));
    await vi.waitUntil(() => waiting === 200, PATIENTLY);
    expect(await (await client.rest.listOrders()).toArray()).toEqual([]);
    stop.abort();
    await following;
  });

  test('waits alone, and ends its call when its signal aborts', async () => {
    await using service = await startTestService();
    const stop = new AbortController();
    const next = follow(service, { after: '0', signal: stop.signal }).next();
    await vi.waitUntil(() => service.requests.length === 1, PATIENTLY);
    expect(service.openResponses()).toBe(1);
    expect(decodeURIComponent(service.requests[0] ?? '')).toMatch(/wait(?:Seconds":|=)50/);
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await vi.waitUntil(() => service.openResponses() === 0, PATIENTLY);
  });

  test('ends with the reason of its signal between two events', async () => {
    await using service = await startTestService();
    await generate(service, 3);
    const between = new AbortController();
    const events = follow(service, { after: '0', signal: between.signal });
    await events.next();
    between.abort(new Error('enough'));
    await expect(events.next()).rejects.toThrow('enough');
  });

  test('fails where trying again would not help', async () => {
    await using fresh = await startTestService();
    await generate(fresh, 2);
    await fresh.persistence.events.deleteExpired({
      eventsBefore: new Date(Date.now() + 1_000),
      now: new Date(),
      signal: AbortSignal.timeout(10_000),
    });
    const next = (after: string, apiKey?: string) => follow(fresh, { after }, apiKey).next();
    const expired = next('1');
    await expect(expired).rejects.toThrow(EventsExpiredError);
    await expect(expired).rejects.toMatchObject({ code: 'events_expired', status: 410, requestId: 'request-1' });
    await expect(next('x')).rejects.toThrow(InvalidRequestError);
    await expect(next('99')).rejects.toThrow(InvalidRequestError);
    await expect(next('0', 'nobody')).rejects.toMatchObject({ code: 'invalid_api_key', status: 401 });
    expect(fresh.requests).toHaveLength(4);
  });

  test.each(['{"events":[]}', '{"result":{"data":{"json":{}}}}', '[]', '<html>'])(
    'takes no other response for a page: %s',
    async (body) => {
      await using server = await startHttpServer((_, response) => void response.writeHead(200).end(body));
      const next = follow(server, { after: '0' }).next();
      await expect(next).rejects.toThrow(ServiceError);
      await expect(next).rejects.toMatchObject({ code: 'unexpected_response', status: 200 });
    },
  );

  test('refuses a position that is no text at once', () => {
    const options = { after: 1n as unknown as string };
    expect(() => follow({ origin: 'http://127.0.0.1:9' }, options)).toThrow(TypeError);
  });
});

test('events are followed in one way: their procedure is no part of the client', () => {
  expectTypeOf<PetstoreClient['orders']>().not.toHaveProperty('events');
  expectTypeOf<PetstoreClient['events']>().returns.toExtend<AsyncIterable<OrderEvent>>();
});
