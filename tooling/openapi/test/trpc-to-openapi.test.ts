import { initTRPC } from '@trpc/server';
import { createOpenApiFetchHandler, type OpenApiMeta } from 'trpc-to-openapi';
import { expect, test } from 'vitest';
import { z } from 'zod';

// Why its handler serves no request. A test that fails says that a reason is gone: see decision 8.

const t = initTRPC.meta<OpenApiMeta>().create();

const router = t.router({
  double: t.procedure
    .meta({ openapi: { method: 'GET', path: '/double/{value}' } })
    .input(z.object({ value: z.bigint() }))
    .output(z.string())
    .query(({ input }) => String(input.value * 2n)),
  count: t.procedure
    .meta({ openapi: { method: 'GET', path: '/count' } })
    .input(z.void())
    .output(z.any())
    .query(async function* () {
      yield 1;
      yield 2;
    }),
});

const get = (path: string) =>
  createOpenApiFetchHandler({
    router,
    endpoint: '/api',
    createContext: () => ({}),
    req: new Request(`http://service.example/api${path}`),
  });

test('it makes the schemas of the procedures coerce, so that tRPC then admits what it refused', async () => {
  // A caller over tRPC sends what it likes.
  const double = (value: unknown) =>
    t
      .createCallerFactory(router)({})
      .double({ value: value as bigint });
  await expect(double('0x2')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect(await (await get('/double/2')).json()).toBe('4');
  expect(await double('0x2')).toBe('4');
});

test('it sends a result as one JSON value when it has all of it, so that nothing of a stream is sent', async () => {
  expect(await (await get('/count')).text()).toBe('{}');
});
