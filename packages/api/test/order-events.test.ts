import { SERVICE_ORIGIN } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { toApiError } from '../src/index.ts';
import { completedOrder, EXTERNAL, pendingOrder, READ_ONLY, startTestApi, type TestApi } from './test-api.ts';

const PLACED = { ...pendingOrder(2n ** 62n), shipDate: new Date('2026-12-01T09:30:00.000Z') };

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  await api.importOrders(PLACED);
  await api.importOrders(completedOrder(3n));
  await api.persistence.orders.applyCommand(PLACED.id, 'cancel', api.clock(), SERVICE_ORIGIN);
});
afterAll(() => api[Symbol.asyncDispose]());

const list = (input: Parameters<ReturnType<TestApi['callAs']>['v2']['orders']['events']>[0], who = EXTERNAL) =>
  api.callAs(who).v2.orders.events(input);

async function get(query: string): Promise<string> {
  const result = await api.callRest('listOrderEvents', {}, query);
  if (result.type !== 'json') throw new Error(`not JSON, but ${result.type}`);
  return result.text;
}

describe('changes of orders to poll', () => {
  test('are those that followers see, for read-only keys as well, and do not say who acted', async () => {
    const { events, nextAfter } = await list({ after: '0' }, READ_ONLY);
    expect(nextAfter).toBe('3');
    expect(events).toEqual([
      { id: '1', type: 'order.imported', orderId: PLACED.id, at: PLACED.placedAt, order: PLACED },
      { id: '2', type: 'order.imported', orderId: 3n, at: expect.any(Date), order: completedOrder(3n) },
      {
        id: '3',
        type: 'order.cancelled',
        orderId: PLACED.id,
        at: api.clock(),
        order: { ...PLACED, status: 'cancelled', cancelledAt: api.clock() },
      },
    ]);
  });

  test('are JSON over REST, with ids as strings', async () => {
    const order = `"id":"${PLACED.id}","petId":"7","quantity":2,"shipDate":"2026-12-01T09:30:00.000Z","complete":false`;
    expect(await get('after=2')).toBe(
      `{"events":[{"id":"3","type":"order.cancelled","orderId":"${PLACED.id}","at":"${api.clock().toISOString()}",` +
        `"order":{${order},"status":"cancelled"}}],"nextAfter":"3"}`,
    );
    expect(JSON.parse(await get('after=0&limit=2'))).toMatchObject({
      events: [{ id: '1' }, { id: '2' }],
      nextAfter: '2',
    });
  });

  test('are none without a position, nor at the end, and the position is told', async () => {
    for (const query of ['', 'limit=1', 'after=3']) expect(await get(query)).toBe('{"events":[],"nextAfter":"3"}');
  });

  test('are 100 by default', async () => {
    const readEvents = vi.spyOn(api.services.events, 'readEvents');
    await get('after=1');
    expect(readEvents).toHaveBeenCalledExactlyOnceWith(1n, 100);
    readEvents.mockRestore();
  });

  const AFTER = 'after: must be the id of an event, or 0 for the beginning of the retained events.';
  const LIMIT = 'limit: must be a whole number from 1 to 1000.';
  test.each<[string, string]>([
    ['after=', AFTER],
    ['after=-1', AFTER],
    ['after=01', AFTER],
    ['after=1.0', AFTER],
    ['after=9223372036854775808', AFTER],
    ['after=now', AFTER],
    [
      'after=4',
      'after: no event has this id yet. Use the id of an event, or 0 for the beginning of the retained events.',
    ],
    ['limit=0', LIMIT],
    ['limit=1001', LIMIT],
    ['limit=1.5', LIMIT],
    ['limit=', LIMIT],
    ['after=1&after=2', 'after: may be given only once.'],
    ['since=1', 'since: unknown parameter. This operation accepts after, limit.'],
  ])('are refused for %s', async (query, message) => {
    const error = await get(query).catch(toApiError);
    expect(error).toMatchObject({ errorCode: 'invalid_request', message });
  });
});
