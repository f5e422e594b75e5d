import { type Order as DomainOrder, INT64_MAX, INT64_MIN, orderId, petId } from '@petstore/domain';
import { startHttpServer } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ConflictError,
  createPetstoreRestClient,
  InvalidRequestError,
  NotFoundError,
  type OrderFilter,
} from '../src/rest.ts';
import { startTestService, type TestService } from './support/test-service.ts';

const PLACED_AT = new Date('2026-11-20T12:00:00.000Z');
const SHIP_DATE = new Date('2026-12-01T09:30:00.000Z');
const IDS = [INT64_MIN, 2n, 3n, 4n, 5n, 6n, INT64_MAX];

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const { rejected } = await service.persistence.orders.importOrders(
    (async function* () {
      for (const [index, id] of IDS.entries()) {
        const facts = { id: orderId(id), petId: petId(index < 3 ? 7n : INT64_MIN), quantity: 2, placedAt: PLACED_AT };
        const value: DomainOrder =
          index % 2 === 0
            ? { ...facts, status: 'pending', complete: false }
            : {
                ...facts,
                status: 'shipped',
                complete: true,
                shipDate: SHIP_DATE,
                shippedAt: PLACED_AT,
                completedAt: PLACED_AT,
              };
        yield { line: index + 1, value };
      }
    })(),
  );
  expect(rejected).toEqual([]);
});
afterAll(() => service[Symbol.asyncDispose]());

const clientOf = (baseUrl: string, maxRetries = 0) =>
  createPetstoreRestClient({ baseUrl, apiKey: 'external', maxRetries }).v2;
const idsOf = async (filter?: OrderFilter) =>
  (await clientOf(service.origin).listOrders(filter).toArray()).map(({ id }) => id);

test('orders come with their status and their times, ids being exact over all 64 bits', async () => {
  const [first, second] = await clientOf(`${service.origin}/v1`).listOrders().toArray();
  const placedAt = PLACED_AT.toISOString();
  expect(first).toEqual({ id: INT64_MIN, petId: 7n, quantity: 2, complete: false, status: 'pending', placedAt });
  expect(second).toEqual({
    id: 2n,
    petId: 7n,
    quantity: 2,
    shipDate: SHIP_DATE.toISOString(),
    complete: true,
    status: 'shipped',
    placedAt,
    shippedAt: placedAt,
    completedAt: placedAt,
  });
});

test('all pages are read, whatever their size, and no more than are wanted', async () => {
  for (const limit of [1, 2, 3, 7, 1_000]) expect(await idsOf({ limit })).toEqual(IDS);
  service.requests.length = 0;
  const seen: bigint[] = [];
  for await (const { id } of clientOf(service.origin).listOrders({ limit: 2 })) {
    seen.push(id);
    if (seen.length === 3) break;
  }
  expect(seen).toEqual(IDS.slice(0, 3));
  expect(service.requests).toEqual([
    'GET /v2/store/orders?limit=2',
    expect.stringMatching(/^GET \/v2\/store\/orders\?limit=2&cursor=[\w-]{24}$/),
  ]);
});

test.each<[OrderFilter, readonly bigint[]]>([
  [{ status: 'pending' }, [INT64_MIN, 3n, 5n, INT64_MAX]],
  [{ status: 'pending', order: 'desc', limit: 3 }, [INT64_MAX, 5n, 3n, INT64_MIN]],
  [{ petId: 7n, status: 'pending' }, [INT64_MIN, 3n]],
  [{ petId: INT64_MIN, limit: 1 }, [4n, 5n, 6n, INT64_MAX]],
])('%o finds what is wanted', async (filter, ids) => {
  expect(await idsOf(filter)).toEqual(ids);
});

test('a page that failed is tried again, and none is read twice', async () => {
  service.requests.length = 0;
  const ids: bigint[] = [];
  for await (const { id } of clientOf(service.origin, 1).listOrders({ limit: 4 })) {
    ids.push(id);
    if (ids.length === 4) service.faults.push('lose-response');
  }
  expect(ids).toEqual(IDS);
  expect(service.requests).toHaveLength(3);
});

test('a filter that the service refuses is an InvalidRequestError that names it', async () => {
  const refused = clientOf(service.origin).listOrders({ limit: 0 }).toArray();
  await expect(refused).rejects.toThrow(InvalidRequestError);
  await expect(refused).rejects.toThrow('limit: must be a whole number from 1 to 1000.');
});

test('a call that is aborted asks for no more pages', async () => {
  const controller = new AbortController();
  const reading = (async () => {
    for await (const _ of clientOf(service.origin).listOrders({ limit: 1 }, { signal: controller.signal })) {
      controller.abort(new Error('enough'));
    }
  })();
  await expect(reading).rejects.toThrow('enough');
});

test.each(['[]', '{"orders":[]}', '{"orders":[],"next":1}', '{"next":null}', '<html>'])(
  '%s is no page, and a part is not taken for all',
  async (text) => {
    await using server = await startHttpServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    await expect(clientOf(server.origin).listOrders().toArray()).rejects.toMatchObject({ code: 'unexpected_response' });
  },
);

test('one order is read by its id, and cancelled as in v1', async () => {
  const v2 = clientOf(service.origin);
  expect(await v2.getOrder({ orderId: INT64_MIN })).toEqual({
    id: INT64_MIN,
    petId: 7n,
    quantity: 2,
    complete: false,
    status: 'pending',
    placedAt: PLACED_AT.toISOString(),
  });
  await v2.cancelOrder({ orderId: INT64_MIN });
  expect(await v2.getOrder({ orderId: INT64_MIN })).toMatchObject({ status: 'cancelled' });
  await expect(v2.cancelOrder({ orderId: INT64_MIN })).rejects.toThrow(ConflictError);
  await expect(v2.getOrder({ orderId: 404n })).rejects.toThrow(NotFoundError);
});

test('a key is described to itself', async () => {
  expect(await clientOf(service.origin).key()).toEqual({
    id: '12345678',
    name: 'test',
    plan: 'enterprise',
    kind: 'external',
    readOnly: false,
    createdAt: '2026-10-01T12:00:00.000Z',
    expiresAt: null,
  });
});
