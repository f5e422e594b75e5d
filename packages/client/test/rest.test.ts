import { setTimeout as sleep } from 'node:timers/promises';
import { type Order as DomainOrder, INT64_MAX, INT64_MIN, orderId, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import {
  AuthenticationError,
  ConflictError,
  createPetstoreRestClient,
  InvalidRequestError,
  NotFoundError,
  type Order,
  type PetstoreClientOptions,
  type PetstoreRestClient,
} from '../src/rest.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

/** Without retries, so that each promise is about one request. */
const clientOf = (options: { apiKey?: string; baseUrl?: string; timeoutMs?: number } = {}): PetstoreRestClient =>
  createPetstoreRestClient({ baseUrl: service.origin, apiKey: 'external', maxRetries: 0, ...options });

const NOW = new Date('2026-11-20T12:00:00.000Z');

/** A pending order with an id of the test's own choice, or any. */
async function placeOrder(): Promise<bigint> {
  const { order } = await service.persistence.orders.insertOrder(
    {
      petId: petId(7n),
      quantity: 2,
      placedAt: NOW,
      status: 'pending',
      complete: false,
    },
    SERVICE_ORIGIN,
  );
  return order.id;
}

async function importOrders(target: TestService, orders: readonly DomainOrder[]): Promise<void> {
  const { rejected } = await target.persistence.orders.importOrders(
    (async function* () {
      for (const [index, value] of orders.entries()) yield { line: index + 1, value };
    })(),
  );
  expect(rejected).toEqual([]);
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([call]);
  expect(outcome.status).toBe('rejected');
  return outcome.status === 'rejected' ? outcome.reason : undefined;
}

describe('listOrders', () => {
  test('gives every order, ascending by id, ids being exact over all 64 bits', async () => {
    await using fresh = await startTestService();
    const shipDate = new Date('2026-12-01T09:30:00.000Z');
    const ids = [INT64_MIN, -1n, 0n, 2n ** 53n + 1n, INT64_MAX];
    await importOrders(
      fresh,
      ids.map((id) => ({
        id: orderId(id),
        petId: petId(-id - 1n),
        quantity: 2_147_483_647,
        ...(id === 0n && { shipDate }),
        placedAt: NOW,
        status: 'pending',
        complete: false,
      })),
    );
    const orders: Order[] = [];
    for await (const order of clientOf({ baseUrl: fresh.origin }).listOrders()) orders.push(order);
    expect(orders).toEqual(
      ids.map((id) => ({
        id,
        petId: -id - 1n,
        quantity: 2_147_483_647,
        ...(id === 0n && { shipDate: '2026-12-01T09:30:00.000Z' }),
        complete: false,
      })),
    );
    expectTypeOf<Order['id']>().toEqualTypeOf<bigint | undefined>();
    expectTypeOf<Order['shipDate']>().toEqualTypeOf<string | undefined>();
  });

  test('asks for nothing before it is read', async () => {
    service.requests.length = 0;
    clientOf().listOrders();
    await sleep(20);
    expect(service.requests).toEqual([]);
  });
});

describe('a long list', () => {
  const COUNT = 50_000;
  let long: TestService;
  beforeAll(async () => {
    long = await startTestService();
    await long.persistence.orders.generateOrders({ count: COUNT, seed: 1, now: NOW });
  });
  afterAll(() => long[Symbol.asyncDispose]());

  test('that is left early ends its request, and the client goes on to work', async () => {
    const client = clientOf({ baseUrl: long.origin });
    for await (const order of client.listOrders()) {
      expect(order.id).toEqual(expect.any(BigInt));
      break;
    }
    await expect.poll(long.openResponses, { timeout: 20_000 }).toBe(0);
    expect(await failureOf(client.cancelOrder({ orderId: -1n }))).toBeInstanceOf(NotFoundError);
  });

  test('is held in memory a piece at a time', async () => {
    let count = 0;
    let peakBytes = 0;
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for await (const _ of clientOf({ baseUrl: long.origin }).listOrders()) {
      if (++count % 5_000 !== 0) continue;
      globalThis.gc?.();
      peakBytes = Math.max(peakBytes, process.memoryUsage().heapUsed - before);
    }
    expect(count).toBe(COUNT);
    // As objects all at once they take 8 MB.
    expect(globalThis.gc).toBeDefined();
    expect(peakBytes).toBeLessThan(3_000_000);
  });
});

describe('cancelOrder', () => {
  test('cancels an order once, and gives nothing', async () => {
    const id = await placeOrder();
    expect(await clientOf().cancelOrder({ orderId: id })).toBeUndefined();
    const failure = await failureOf(clientOf().cancelOrder({ orderId: id }));
    expect(failure).toBeInstanceOf(ConflictError);
    expect(failure).toMatchObject({
      name: 'ConflictError',
      code: 'order_already_cancelled',
      status: 409,
      requestId: expect.stringMatching(/^request-/),
      retryAfterSeconds: undefined,
      message: 'The order has already been cancelled.',
    });
  });

  test('distinguishes an order that has shipped from one that does not exist', async () => {
    const id = await placeOrder();
    await service.persistence.orders.applyCommand(orderId(id), 'ship', NOW, SERVICE_ORIGIN);
    expect(await failureOf(clientOf().cancelOrder({ orderId: id }))).toMatchObject({ code: 'order_already_shipped' });
    const missing = await failureOf(clientOf().cancelOrder({ orderId: INT64_MAX }));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ code: 'order_not_found', status: 404 });
  });

  test('leaves it to the service to refuse what is no 64-bit integer', async () => {
    for (const orderId of [2n ** 63n, 1.5, 'a/b?c', '../orders'] as bigint[]) {
      const failure = await failureOf(clientOf().cancelOrder({ orderId }));
      expect(failure).toBeInstanceOf(InvalidRequestError);
      expect(failure).toMatchObject({ code: 'invalid_request', status: 400 });
    }
  });
});

describe('getPetById', () => {
  test('finds a pet, ids being exact', async () => {
    await service.persistence.pets.importPets(
      (async function* () {
        yield { line: 1, value: { id: petId(INT64_MAX), name: 'Rex "the id\\": 12345678901234567890"' } };
      })(),
    );
    expect(await clientOf().getPetById({ petId: INT64_MAX })).toEqual({
      id: INT64_MAX,
      name: 'Rex "the id\\": 12345678901234567890"',
    });
    expect(await failureOf(clientOf().getPetById({ petId: 404n }))).toMatchObject({ code: 'pet_not_found' });
  });
});

describe('any call', () => {
  test('without a valid key is an AuthenticationError that does not contain the key', async () => {
    const failure = await failureOf(clientOf({ apiKey: 'wrong-key' }).cancelOrder({ orderId: 1n }));
    expect(failure).toBeInstanceOf(AuthenticationError);
    expect(failure).toMatchObject({ code: 'invalid_api_key', status: 401 });
    expect(JSON.stringify(failure) + String(failure)).not.toContain('wrong-key');
  });

  test('ends by its signal, with the reason of the signal', async () => {
    const reason = new Error('The user went away.');
    expect(await failureOf(clientOf().cancelOrder({ orderId: 1n }, { signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    );
    const abort = new AbortController();
    const call = clientOf().listOrders({ signal: abort.signal }).toArray();
    abort.abort(reason);
    expect(await failureOf(call)).toBe(reason);
  });

  test('takes the origin and the REST address alike', async () => {
    for (const suffix of ['', '/', '/v1', '/v1/']) {
      const client = clientOf({ baseUrl: `${service.origin}${suffix}` });
      expect(await failureOf(client.getPetById({ petId: 404n }))).toMatchObject({ code: 'pet_not_found' });
    }
  });
});

describe('a client', () => {
  test.each([
    [{ baseUrl: 'petstore.example.com' }, 'baseUrl must be'],
    [{ baseUrl: 'ftp://petstore.example.com' }, 'baseUrl must be'],
    [{ baseUrl: undefined as unknown as string }, 'baseUrl must be'],
    [{ baseUrl: '' }, 'baseUrl must be'],
    [{ baseUrl: 'http://u:p@h.example/x' }, 'baseUrl must not have a user'],
    [{ baseUrl: 'http://h.example/v1?x=1' }, 'baseUrl must not have a user, a password, a query'],
    [{ baseUrl: new URL('http://h.example/#top') }, 'baseUrl must not have a user, a password, a query or a fragment'],
    [{ apiKey: '' }, 'apiKey must be'],
    [{ apiKey: undefined as unknown as string }, 'apiKey must be'],
    [{ apiKey: 42 as unknown as string }, 'apiKey must be'],
    [{ apiKey: 'Bearer k' }, 'without "Bearer"'],
    [{ apiKey: 'a\r\nb' }, 'without blanks'],
    [{ apiKey: 'pso\u2013live' }, 'apiKey must be'],
    [{ fetch: 'fetch' as unknown as typeof fetch }, 'fetch must be a function'],
    [{ maxRetries: -1 }, 'maxRetries must be'],
    [{ timeoutMs: 0 }, 'timeoutMs must be'],
    [{ maxRetryAfterSeconds: -1 }, 'maxRetryAfterSeconds must be'],
  ])('is refused options that cannot work: %j', (options, message) => {
    const good = { baseUrl: 'http://petstore.example.com', apiKey: 'k' };
    expect(() => createPetstoreRestClient({ ...good, ...options })).toThrow(message);
  });

  test('is refused no options at all', () => {
    expect(() => createPetstoreRestClient(undefined as unknown as PetstoreClientOptions)).toThrow(
      'options must be given',
    );
  });

  test.each([null, {}, new AbortController()])(
    'is refused a signal that is none, before anything is sent: %s',
    async (signal) => {
      const client = createPetstoreRestClient({ baseUrl: 'http://petstore.example.com', apiKey: 'k' });
      const call = client.cancelOrder({ orderId: 1n }, { signal: signal as unknown as AbortSignal });
      expect(await failureOf(call)).toMatchObject({
        name: 'TypeError',
        message: expect.stringContaining('signal must be'),
      });
    },
  );

  test.each(['http://trpc', 'http://v2/', 'http://v2.example/petstore/v1'])(
    'may find the service at %s, which is a name of a host',
    (baseUrl) => {
      expect(() => createPetstoreRestClient({ baseUrl, apiKey: 'k' })).not.toThrow();
    },
  );

  test('does not show its key when it is printed', async () => {
    const { inspect } = await import('node:util');
    const client = createPetstoreRestClient({ baseUrl: 'http://petstore.example.com', apiKey: 'the-secret' });
    expect(inspect(client, { depth: null, showHidden: true })).not.toContain('the-secret');
  });
});
