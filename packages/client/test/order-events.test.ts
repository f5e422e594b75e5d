import { INT64_MAX, INT64_MIN, orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  EventsExpiredError,
  InvalidRequestError,
  type OrderEventV2,
  ServiceError,
} from '../src/rest.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import { createTestRestClient } from './support/test-clients.ts';
import { TestClock } from './support/test-clock.ts';
import { startTestService, type TestService } from './support/test-service.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const POLL_MS = 180_000;

let clock: TestClock;
beforeEach(() => {
  clock = new TestClock();
});

/** It gives up nothing by itself: following goes on whatever `maxRetries` says. */
const v2Of = (baseUrl: string, apiKey = 'external') =>
  createTestRestClient({ baseUrl, apiKey, maxRetries: 0, clock, random: () => 0, timeoutMs: clock.timeoutMs }).v2;

const generate = ({ persistence }: TestService, count: number) =>
  persistence.orders.generateOrders({ count, seed: 1, now: NOW });

const place = ({ persistence }: TestService) =>
  persistence.orders.insertOrder(
    { petId: petId(7n), quantity: 2, placedAt: NOW, status: 'pending', complete: false },
    SERVICE_ORIGIN,
  );

/** Takes so many of what comes, and leaves. */
async function takeIds(events: AsyncIterable<OrderEventV2>, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of events) if (ids.push(id) === count) break;
  return ids;
}

const numbersTo = (last: number) => Array.from({ length: last }, (_, i) => String(i + 1));

describe('orderEvents', () => {
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
    await using server = await startScriptedServer(({ url = '' }, response) => {
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

  test('fails where trying again would not help', async () => {
    await using service = await startTestService();
    await generate(service, 2);
    await service.persistence.events.deleteExpired({
      eventsBefore: new Date(Date.now() + 1_000),
      now: new Date(),
      signal: AbortSignal.timeout(10_000),
    });
    const next = (after: string, apiKey?: string) => v2Of(service.origin, apiKey).orderEvents({ after }).next();
    await expect(next('1')).rejects.toThrow(EventsExpiredError);
    await expect(next('99')).rejects.toThrow(InvalidRequestError);
    await expect(next('x')).rejects.toThrow(InvalidRequestError);
    await expect(next('0', 'nobody')).rejects.toThrow(AuthenticationError);
    expect(service.requests).toHaveLength(4);
  });

  test.each(['{"events":[]}', '{"nextAfter":"1"}', '[]', '<html>', '{"events":[{"id":"1"}],"nextAfter":"1"}'])(
    'takes no other response for a page: %s',
    async (body) => {
      await using server = await startScriptedServer((_, response) => void response.writeHead(200).end(body));
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
