import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, placeOrder, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { failing } from './support/replaced-parts.ts';
import { PETS_SUNSET_AT, startTestApp, type TestApp, type TestAppOptions, useTestApp } from './support/test-app.ts';
import { mutate, query, type TrpcResponse } from './support/trpc-calls.ts';

const shared = await useTestApp();

type Options = { readonly key?: string | null };
const cancelOrder = {
  rest: (app: TestApp, id: bigint, options: Options = {}) =>
    app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE', ...options }),
  trpc: (app: TestApp, orderId: bigint, options: Options = {}) => mutate(app, 'orders.cancel', { orderId }, options),
};
const getPet = {
  rest: (app: TestApp, id: bigint, options: Options = {}) => app.fetch(`/v1/pets/${id}`, options),
  trpc: (app: TestApp, petId: bigint, options: Options = {}) => query(app, 'pets.get', { petId }, options),
};

interface Row {
  readonly code: ErrorCode;
  readonly call: { rest: typeof cancelOrder.rest; trpc: typeof cancelOrder.trpc };
  /** The id to call with, created anew for each side. */
  readonly id?: (app: TestApp) => Promise<bigint>;
  readonly key?: (app: TestApp) => Promise<string | null>;
  readonly options?: TestAppOptions;
}

const spentKey = async (app: TestApp) => {
  const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
  await app.fetch('/v1/pets/1', { key });
  return key;
};
const ROWS: readonly Row[] = [
  { code: 'order_not_found', call: cancelOrder, id: async () => 404n },
  {
    code: 'order_already_shipped',
    call: cancelOrder,
    id: async ({ persistence }) => (await placeOrder(persistence, 'ship')).id,
  },
  {
    code: 'order_already_cancelled',
    call: cancelOrder,
    id: async ({ persistence }) => (await placeOrder(persistence, 'cancel')).id,
  },
  { code: 'pet_not_found', call: getPet },
  { code: 'missing_api_key', call: getPet, key: async () => null },
  { code: 'invalid_api_key', call: cancelOrder, key: async () => 'unknown' },
  { code: 'rate_limit_exceeded', call: getPet, key: spentKey },
  { code: 'operation_sunset', call: getPet, options: { clock: manualClock(PETS_SUNSET_AT) } },
  { code: 'internal_error', call: getPet, options: failing(new Error('secret')) },
  { code: 'service_unavailable', call: getPet, options: failing(new StorageUnavailableError('secret')) },
  { code: 'overloaded', call: getPet, options: { bounds: { maxRequestsInFlight: 0 } } },
];

describe('REST and tRPC fail with the same code, message and headers', () => {
  test.each(ROWS)('$code', async ({ code, call, id = async () => 404n, key = async () => undefined, options }) => {
    await using own = options && (await startTestApp(options));
    const app = own ?? shared;
    const keyOf = async (): Promise<Options> => {
      const made = await key(app);
      return made === undefined ? {} : { key: made };
    };
    const rest = await expectError(await call.rest(app, await id(app), await keyOf()), code);
    const trpc: TrpcResponse = await call.trpc(app, await id(app), await keyOf());
    expect(trpc.error).toMatchObject({
      message: JSON.parse(rest.body).message,
      data: { code: ERROR_CATALOGUE[code].trpcCode, errorCode: code },
    });
    for (const name of ['www-authenticate', 'cache-control', 'x-ratelimit-limit', 'content-type']) {
      expect(trpc.headers.get(name), name).toBe(rest.headers[name] ?? null);
    }
    expect(trpc.headers.has('retry-after')).toBe('retry-after' in rest.headers);
  });
});

test('a cancellation over REST or tRPC is visible on the other side', async () => {
  const { id } = await placeOrder(shared.persistence);
  expect((await cancelOrder.trpc(shared, id)).status).toBe(200);
  await expectError(await cancelOrder.rest(shared, id), 'order_already_cancelled');
  const { id: other } = await placeOrder(shared.persistence);
  expect((await cancelOrder.rest(shared, other)).status).toBe(204);
  expect((await cancelOrder.trpc(shared, other)).error?.data).toMatchObject({ errorCode: 'order_already_cancelled' });
});
