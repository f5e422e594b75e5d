import { initTRPC } from '@trpc/server';
import { createOpenApiFetchHandler, type OpenApiMeta } from 'trpc-to-openapi';
import { expect, test } from 'vitest';
import { z } from 'zod';

// What we do ourselves because the package does it otherwise. A test that fails says that a reason is gone: see decision 8.

const t = initTRPC.meta<OpenApiMeta>().create();

const router = t.router({
  double: t.procedure
    .meta({ openapi: { method: 'GET', path: '/numbers/{value}' } })
    .input(z.object({ value: z.bigint() }))
    .output(z.string())
    .query(({ input }) => String(input.value * 2n)),
  list: t.procedure
    .meta({ openapi: { method: 'GET', path: '/numbers' } })
    .input(z.strictObject({ limit: z.string().optional() }))
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
  expect(await (await get('/numbers/2')).json()).toBe('4');
  expect(await double('0x2')).toBe('4');
});

test('it sends a result as one JSON value when it has all of it, so that nothing of a stream is sent', async () => {
  expect(await (await get('/numbers')).text()).toBe('{}');
});

test('it does not decode segments, and takes those of dots for no segment', async () => {
  expect((await get('/numbers/%32')).status).toBe(400);
  expect(await (await get('/numbers/%2e')).text()).toBe('{}');
});

test('it reads a query into an object that inherits names', async () => {
  expect((await get('/numbers?other=1')).status).toBe(400);
  expect((await get('/numbers?constructor=1')).status).toBe(500);
  expect((await get('/numbers?__proto__=1')).status).toBe(500);
});
