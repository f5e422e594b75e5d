import type { AppRouter } from '@petstore/api';
import { createTRPCClient, httpBatchLink, httpBatchStreamLink } from '@trpc/client';
import superjson from 'superjson';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPetstoreClient, petstoreErrorOf } from '../src/index.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.persistence.orders.generateOrders({ count: 1, seed: 1, now: new Date() });
  await createPetstoreClient({ baseUrl: service.origin, apiKey: 'internal' }).orders.cancel.mutate({ orderId: 1n });
});
afterAll(() => service[Symbol.asyncDispose]());

/** What a client writes for an input. A program that has no types sends anything. */
const MALFORMED: readonly (readonly [what: string, encoded: unknown, code: string])[] = [
  ['an id beyond 64 bits', superjson.serialize({ orderId: 2n ** 63n }), 'invalid_request'],
  ['null', null, 'invalid_request'],
  ['none', undefined, 'invalid_request'],
  ['a text', 'x', 'invalid_request'],
  ['a list', superjson.serialize([1n]), 'invalid_request'],
  ['JSON that superjson did not write', { orderId: '1' }, 'invalid_request'],
  ['a set', superjson.serialize({ orderId: new Set([1n]) }), 'invalid_request'],
  ['a Date that is none', superjson.serialize({ orderId: new Date(Number.NaN) }), 'invalid_request'],
  ['a number', superjson.serialize({ orderId: 1 }), 'invalid_request'],
  ['__proto__', JSON.parse('{"json":{"orderId":"1","__proto__":1},"meta":{"values":{"orderId":["bigint"]}}}'), 'invalid_request'],
  ['constructor', { json: { orderId: '1', constructor: 1 }, meta: { values: { orderId: ['bigint'] } } }, 'invalid_request'],
  ['prototype', { json: { orderId: '1', prototype: 1 }, meta: { values: { orderId: ['bigint'] } } }, 'invalid_request'],
  ['too much', superjson.serialize({ orderId: 'x'.repeat(4_097) }), 'payload_too_large'],
]; // biome-ignore format: a table

const LINKS = { httpBatchLink, httpBatchStreamLink };

test.for(Object.entries(LINKS).flatMap(([name, link]) => MALFORMED.map((row) => [...row, name, link] as const)))(
  '%s (%j) fails with %s its own call of a batch only, by %s',
  async ([, malformed, code, , link]) => {
    const client = createTRPCClient<AppRouter>({
      links: [
        link({
          url: `${service.origin}/trpc`,
          headers: { authorization: 'Bearer internal' },
          transformer: {
            input: { serialize: (encoded) => encoded, deserialize: (encoded) => encoded },
            output: superjson,
          },
        }),
      ],
    });
    const good = superjson.serialize({ orderId: 1n });
    const call = async (make: (encoded: never) => Promise<unknown>) => {
      // They are encoded already, which has no type.
      const calls = [good, malformed, good].map((encoded) => make(encoded as never));
      return (await Promise.allSettled(calls)).map(codeOf);
    };
    service.requests.length = 0;
    expect(await call(client.orders.get.query)).toEqual([undefined, code, undefined]);
    expect(await call(client.orders.cancel.mutate)).toEqual([
      'order_already_cancelled',
      code,
      'order_already_cancelled',
    ]);
    expect(service.requests).toHaveLength(2);
  },
);

/** What the client itself must keep apart. */
const ALONE: readonly (readonly [what: string, input: unknown])[] = [
  ['a field __proto__', JSON.parse('{"orderId":1,"__proto__":2}')],
  ['a field that throws', Object.defineProperty({}, 'orderId', { enumerable: true, get: () => expect.fail() })],
  ['more than an input may have', { orderId: 'x'.repeat(5_000) }],
  ['more than a request may have', { orderId: 'x'.repeat(70_000) }],
  ['more letters than a URL may have', { orderId: 'ä'.repeat(700) }],
  ['more depth than can be encoded', { orderId: Array.from({ length: 100_000 }).reduce((inner) => [inner], 1) }],
];

test.each(ALONE)('%s fails its own call of the client only', async (_, input) => {
  const client = createPetstoreClient({ baseUrl: service.origin, apiKey: 'internal', maxRetries: 0 });
  const { get, cancel } = client.orders;
  const good = { orderId: 1n };
  const bad = input as never; // a program that has no types sends anything
  const queries = await Promise.allSettled([get.query(good), get.query(bad), get.query(good)]);
  expect(queries.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  const mutations = await Promise.allSettled([cancel.mutate(good), cancel.mutate(bad), cancel.mutate(good)]);
  const [before, own, after] = mutations.map(codeOf);
  expect([before, after]).toEqual(['order_already_cancelled', 'order_already_cancelled']);
  expect(own).not.toBe('order_already_cancelled');
});

const codeOf = (outcome: PromiseSettledResult<unknown>) =>
  outcome.status === 'rejected' ? petstoreErrorOf(outcome.reason)?.code : undefined;
