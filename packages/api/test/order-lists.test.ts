import {
  INT64_MAX,
  INT64_MIN,
  ORDER_STATUSES,
  type Order,
  orderTextOf,
  petId,
  SERVICE_ORIGIN,
  type StoredOrder,
} from '@petstore/domain';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { toApiError } from '../src/index.ts';
import { int64Error } from '../src/int64.ts';
import { decodeCursor, encodeCursor } from '../src/procedures/page-cursor.ts';
import { orderJson } from '../src/rest/order-json.ts';
import {
  cancelledOrder,
  completedOrder,
  EXTERNAL,
  pendingOrder,
  READ_ONLY,
  readText,
  shippedOrder,
  startTestApi,
  type TestApi,
} from './test-api.ts';

const SHIP_DATE = new Date('2026-12-01T09:30:00.000Z');
const ORDERS: readonly Order[] = [
  { ...pendingOrder(INT64_MIN), petId: petId(INT64_MAX), shipDate: SHIP_DATE },
  shippedOrder(2n),
  { ...completedOrder(3n), shipDate: SHIP_DATE },
  cancelledOrder(4n),
  pendingOrder(INT64_MAX),
];

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  await api.importOrders(...ORDERS);
});
afterAll(() => api[Symbol.asyncDispose]());

const list = (input: Parameters<ReturnType<TestApi['callAs']>['v2']['orders']['list']>[0] = {}) =>
  api.callAs(EXTERNAL).v2.orders.list(input);

/** The response over REST: the text of its body, and what leads to the next page. */
async function get(query = '') {
  const result = await api.callRest('listOrdersPage', {}, query);
  if (result.type !== 'json') throw new Error(`not JSON, but ${result.type}`);
  const page: { orders: { id: string }[]; next: string | null } = JSON.parse(result.text);
  return { text: result.text, next: page.next, ids: page.orders.map(({ id }) => BigInt(id)) };
}

const LIMIT = 'limit: must be a whole number from 1 to 1000.';
const STATUS = `status: must be one of ${ORDER_STATUSES.join(', ')}.`;
const CURSOR = 'cursor: must be the `next` of a response of this operation with the same filters and order.';

describe('over tRPC', () => {
  test('a page holds whole orders, and leads to the next one until there is none', async () => {
    const first = await list({ limit: 3 });
    expect(first.orders).toEqual(ORDERS.slice(0, 3));
    expect(first.next).toMatch(/^[\w-]{24}$/);
    const second = await list({ limit: 3, cursor: first.next ?? '' });
    expect(second).toEqual({ orders: ORDERS.slice(3), next: null });
  });

  test('a page has 100 orders by default', async () => {
    const findOrders = vi.spyOn(api.services.orders, 'findOrders');
    await list();
    expect(findOrders).toHaveBeenCalledExactlyOnceWith({ filter: {}, order: 'asc', limit: 100 });
    findOrders.mockRestore();
  });

  test.each<[object, string]>([
    [{ limit: 1.5 }, LIMIT],
    [{ status: ['pending'] }, STATUS],
    [{ petId: 2n ** 63n }, 'petId: must be a 64-bit integer'],
    [{ page: 2 }, 'may only contain status, petId, order, limit, cursor.'],
  ])('%o is refused', async (input, message) => {
    const error = await list(input).catch(toApiError);
    expect(error).toMatchObject({ errorCode: 'invalid_request', message: expect.stringContaining(message) });
  });
});

describe('over REST', () => {
  test("an order has v1's fields, its status and its times, ids as strings, an unknown time left out", async () => {
    const { text } = await get();
    expect(text).toBe(
      '{"orders":[{"id":"-9223372036854775808","petId":"9223372036854775807","quantity":2,"shipDate":"2026-12-01T09:30:00.000Z","complete":false,"status":"pending","placedAt":"2026-11-01T08:00:00.000Z"},' +
        '{"id":"2","petId":"7","quantity":2,"complete":false,"status":"shipped","placedAt":"2026-11-01T08:00:00.000Z","shippedAt":"2026-11-02T08:00:00.000Z"},' +
        '{"id":"3","petId":"7","quantity":2,"shipDate":"2026-12-01T09:30:00.000Z","complete":true,"status":"shipped","placedAt":"2026-11-01T08:00:00.000Z","shippedAt":"2026-11-02T08:00:00.000Z","completedAt":"2026-11-03T08:00:00.000Z"},' +
        '{"id":"4","petId":"7","quantity":2,"complete":false,"status":"cancelled","placedAt":"2026-11-01T08:00:00.000Z","cancelledAt":"2026-11-04T08:00:00.000Z"},' +
        '{"id":"9223372036854775807","petId":"7","quantity":2,"complete":false,"status":"pending","placedAt":"2026-11-01T08:00:00.000Z"}],"next":null}',
    );
  });

  test.each<[string, bigint[]]>([
    ['status=pending', [INT64_MIN, INT64_MAX]],
    ['status=shipped', [2n, 3n]],
    ['status=cancelled', [4n]],
    ['order=desc', [INT64_MAX, 4n, 3n, 2n, INT64_MIN]],
    ['petId=7&order=desc', [INT64_MAX, 4n, 3n, 2n]],
    ['petId=7', [2n, 3n, 4n, INT64_MAX]],
    ['petId=9223372036854775807', [INT64_MIN]],
    ['petId=8', []],
    ['petId=7&status=shipped', [2n, 3n]],
  ])('?%s wants these orders, and the same over tRPC', async (query, ids) => {
    expect(await get(query)).toMatchObject({ ids, next: null });
    const { petId: pet, ...others } = Object.fromEntries(new URLSearchParams(query));
    const page = await list({ ...others, ...(pet !== undefined && { petId: BigInt(pet) }) });
    expect(page.orders.map(({ id }) => id)).toEqual(ids);
  });

  test('leads through all pages of a filter, no order comes twice', async () => {
    const query = 'limit=1&petId=7&status=shipped';
    const seen: bigint[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page = await get(next === '' ? query : `${query}&cursor=${next}`);
      seen.push(...page.ids);
      next = page.next;
    }
    expect(seen).toEqual([2n, 3n]);
  });

  test.each([
    ['limit=0', LIMIT],
    ['limit=1001', LIMIT],
    ['limit=many', LIMIT],
    ['status=sold', STATUS],
    ['status=pending,shipped', STATUS],
    ['status=pending&status=shipped', 'status: may be given only once.'],
    ['order=DESC', 'order: must be asc or desc.'],
    ['cursor=x', CURSOR],
    ['petId=0x7', `petId: ${int64Error}`],
    ['complete=true', 'complete: unknown parameter.'],
    ['shipDateFrom=2026-12-01T00:00:00Z', 'shipDateFrom: unknown parameter.'],
    ['limit=0&petId=x', `petId: ${int64Error}`],
  ])('?%s is refused, naming the parameter and what is right', async (query, message) => {
    const error = await get(query).catch(toApiError);
    expect(error).toMatchObject({ errorCode: 'invalid_request', message: expect.stringContaining(message) });
  });
});

describe('a cursor', () => {
  const list = ['orders', { petId: 7n, status: 'pending' }];

  test('is refused with any other filter or order, and with none', async () => {
    const { next: cursor } = await get('limit=1&petId=7');
    for (const others of ['', 'petId=8', 'petId=7&status=pending', 'petId=7&order=desc']) {
      await expect(get(`${others}&cursor=${cursor}`)).rejects.toMatchObject({
        errorCode: 'invalid_request',
        message: CURSOR,
      });
    }
    // How many orders a page holds is no filter.
    expect((await get(`petId=7&limit=2&cursor=${cursor}`)).ids).toEqual([3n, 4n]);
  });

  test('leads behind its item in its list, whichever it is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (id) => {
        const cursor = encodeCursor(id, list);
        expect(cursor).toMatch(/^[\w-]{24}$/);
        expect(decodeCursor(cursor, list)).toBe(id);
        expect(decodeCursor(cursor, ['pets', list[1]])).toBeUndefined();
      }),
    );
  });

  test('is refused with any character changed, left out or added', () => {
    const cursor = encodeCursor(12_345n, list);
    for (let i = 0; i < cursor.length; i++) {
      for (const other of ['A', 'B', '-', '_', '=', '+', ' ', '']) {
        const changed = cursor.slice(0, i) + other + cursor.slice(i + 1);
        if (changed !== cursor) expect(decodeCursor(changed, list)).toBeUndefined();
      }
      expect(decodeCursor(`${cursor.slice(0, i)}A${cursor.slice(i)}`, list)).toBeUndefined();
    }
  });

  test('is refused where it is anything else', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => decodeCursor(text, list) === undefined));
    // Of the right length and alphabet, which is rare among those.
    fc.assert(fc.property(fc.stringMatching(/^[\w-]{24}$/), (text) => decodeCursor(text, list) === undefined));
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 17, maxLength: 17 }), (afterVersion) => {
        const forged = Buffer.from([1, ...afterVersion]).toString('base64url');
        expect(forged).toHaveLength(24);
        expect(decodeCursor(forged, list)).toBeUndefined();
      }),
    );
  });
});

/** The batches that a caller with a streaming link gets. */
async function streamed({ callAs }: TestApi): Promise<(readonly StoredOrder[])[]> {
  const batches: (readonly StoredOrder[])[] = [];
  for await (const batch of await callAs(EXTERNAL).orders.list()) batches.push(batch);
  return batches;
}

const listedText = async (service: TestApi) => readText(await service.callRest('listOrders'));

test.each([0, 250, 4_251])('a list of %i orders is one JSON array', async (count) => {
  await using fresh = await startTestApi();
  if (count > 0) await fresh.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
  const ids = Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const listed: unknown = JSON.parse(await listedText(fresh));
  expect(listed).toHaveLength(count);
  expect(listed).toMatchObject(ids);
  const batches = await streamed(fresh);
  expect(batches.flat().map(({ id }) => ({ id: Number(id) }))).toEqual(ids);
  expect(batches.every(({ length }) => length > 0 && length <= 50)).toBe(true);
});

test('the JSON of an order has its fields in the order of the document, and no ship date that is not known', () => {
  const pending = pendingOrder(-5n);
  const completed: Order = { ...completedOrder(6n), shipDate: new Date('2026-01-02T03:04:05.600Z') };
  expect([pending, completed].map((order) => orderJson(orderTextOf(order)))).toEqual([
    '{"id":-5,"petId":7,"quantity":2,"complete":false}',
    '{"id":6,"petId":7,"quantity":2,"shipDate":"2026-01-02T03:04:05.600Z","complete":true}',
  ]);
});

describe('changes of orders to poll', () => {
  const PLACED = { ...pendingOrder(2n ** 62n), shipDate: new Date('2026-12-01T09:30:00.000Z') };

  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
    await api.importOrders(PLACED);
    await api.importOrders(completedOrder(3n));
    await api.persistence.orders.applyCommand(PLACED.id, 'cancel', api.clock(), SERVICE_ORIGIN);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  async function get(query: string): Promise<string> {
    const result = await api.callRest('listOrderEvents', {}, query);
    if (result.type !== 'json') throw new Error(`not JSON, but ${result.type}`);
    return result.text;
  }

  test('are those that followers see, for read-only keys as well, and do not say who acted', async () => {
    const { events, nextAfter } = await api.callAs(READ_ONLY).orders.events({ after: '0' });
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
        `"order":{${order},"status":"cancelled","placedAt":"2026-11-01T08:00:00.000Z","cancelledAt":"2026-11-20T12:00:00.000Z"}}],"nextAfter":"3"}`,
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
    ['since=1', 'since: unknown parameter. This operation accepts after, limit, wait.'],
  ])('are refused for %s', async (query, message) => {
    const error = await get(query).catch(toApiError);
    expect(error).toMatchObject({ errorCode: 'invalid_request', message });
  });
});
