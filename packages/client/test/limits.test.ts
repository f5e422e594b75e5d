import { startHttpServer } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createPetstoreClient, createPetstoreRestClient, NotFoundError, type ReportedLimits } from '../src/index.ts';
import { startTestService, type TestService } from './support/test-service.ts';

const PER_MINUTE = 1_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ limits: { perMinute: PER_MINUTE, perDay: 5_000 } });
  await service.persistence.orders.generateOrders({ count: 1, seed: 1, now: new Date() });
});
afterAll(() => service[Symbol.asyncDispose]());

test('v2.limits says what is left, and is a request like any other', async () => {
  const { v2 } = createPetstoreRestClient({ baseUrl: service.origin, apiKey: 'read-only' });
  const before = await v2.limits();
  expect(before).toMatchObject({ minute: { limit: PER_MINUTE }, day: { limit: 5_000 }, refusals: 0 });
  expect(before).not.toHaveProperty('ban');
  expect(new Date(before.minute.reset).getTime()).not.toBeNaN();
  expect((await v2.limits()).day.used).toBe(before.day.used + 1);
});

describe('onLimits', () => {
  const ofService = (onLimits: (limits: ReportedLimits) => void) =>
    createPetstoreClient({ baseUrl: service.origin, apiKey: 'internal', maxRetries: 0, onLimits });

  test('is called with what each response tells, over REST and tRPC, errors and streams included', async () => {
    const seen: ReportedLimits[] = [];
    const { rest, orders, pets, events } = ofService((limits) => void seen.push(limits));
    for await (const _event of events({ after: '0' })) break;
    await expect(rest.v2.getOrder({ orderId: 404n })).rejects.toThrow(NotFoundError);
    await expect(pets.get.query({ petId: 404n })).rejects.toThrow();
    for await (const _batch of await orders.list.query());
    await rest.listOrders().toArray();
    expect(seen.map(({ minute }) => minute.remaining)).toEqual(
      seen.map((_, i) => (seen[0]?.minute.remaining ?? 0) - i),
    );
    expect(seen).toHaveLength(5);
    expect(seen[0]).toEqual({
      minute: { limit: PER_MINUTE, remaining: expect.any(Number), resetSeconds: expect.any(Number) },
      day: { limit: 5_000, remaining: expect.any(Number), resetSeconds: expect.any(Number) },
    });
  });

  test.each<[string, Record<string, string>, ReportedLimits | undefined]>([
    [
      'both windows',
      {
        'ratelimit-policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
        ratelimit: '"minute";r=0;t=12, "day";r=940;t=86400',
      },
      {
        minute: { limit: 60, remaining: 0, resetSeconds: 12 },
        day: { limit: 1_000, remaining: 940, resetSeconds: 86_400 },
      },
    ],
    [
      'the window of an address',
      { 'ratelimit-policy': '"minute";q=600;w=60', ratelimit: '"minute";r=599;t=60' },
      { minute: { limit: 600, remaining: 599, resetSeconds: 60 } },
    ],
    ['a response of something else', {}, undefined],
    ['headers of something else', { ratelimit: 'limit=100, remaining=50, reset=5' }, undefined],
    ['half of the headers', { ratelimit: '"minute";r=599;t=60' }, undefined],
  ])('is told of %s', async (_, headers, expected) => {
    await using server = await startHttpServer((_request, response) => void response.writeHead(204, headers).end());
    const onLimits = vi.fn();
    const client = createPetstoreRestClient({ baseUrl: server.origin, apiKey: 'k', onLimits });
    await client.cancelOrder({ orderId: 1n });
    expect(onLimits.mock.calls).toEqual(expected === undefined ? [] : [[expected]]);
  });

  test('changes no call by what it throws, which is an uncaught exception', async () => {
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const uncaught: unknown[] = [];
    process.on('uncaughtException', (error) => uncaught.push(error));
    try {
      const mistake = new Error('a mistake of the program');
      const { rest } = ofService(() => {
        throw mistake;
      });
      expect(await rest.listOrders().toArray()).toHaveLength(1);
      expect(uncaught).toEqual([mistake]);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of others) process.on('uncaughtException', listener);
    }
  });

  test('is a function', () => {
    const onLimits = 'x' as unknown as () => void;
    expect(() => createPetstoreRestClient({ baseUrl: 'http://x', apiKey: 'k', onLimits })).toThrow(
      new TypeError('onLimits must be a function, or left out'),
    );
  });
});
