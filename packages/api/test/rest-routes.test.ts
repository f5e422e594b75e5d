import { INT64_MAX, INT64_MIN, isInternal } from '@petstore/domain';
import { type AnyTRPCProcedure, type AnyTRPCRouter, initTRPC } from '@trpc/server';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, appRouter, type Context, openApiDocument, restRoutes } from '../src/index.ts';
import { type ApiVersion, DOCUMENTED_VERSIONS } from '../src/openapi/versions.ts';
import { type ProcedureMeta, versionsOf } from '../src/procedure-meta.ts';
import { CancelOrderInput } from '../src/procedures/orders/cancel-order.contract.ts';
import { ListOrdersPageInput } from '../src/procedures/v2/orders/list-orders.contract.ts';
import { createProcedureCall, createRestRoutes } from '../src/rest/rest-routes.ts';
import { EXTERNAL, INTERNAL, pendingOrder, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('mounted routes, document and procedures', () => {
  const byName: Record<string, AnyTRPCProcedure> = (appRouter as AnyTRPCRouter)._def.procedures; // flat, unlike its type
  const procedures = Object.entries(byName).map(
    ([name, procedure]) => [name, procedure._def.meta as ProcedureMeta | undefined] as const,
  );

  test('are one set', () => {
    const fromProcedures = procedures.flatMap(([name, meta]) =>
      meta?.openapi
        ? Object.keys(versionsOf(meta)).map((apiVersion) => ({
            name,
            apiVersion,
            ...meta.openapi,
            deprecatedAt: meta.rest?.deprecatedAt,
          }))
        : [],
    );
    const fromRoutes = restRoutes.map(({ procedure, deprecation, ...route }) => ({
      procedure,
      apiVersion: route.apiVersion,
      method: route.method,
      path: route.path,
      operationId: route.operationId,
      deprecated: deprecation !== undefined,
      successStatus: route.successStatus,
    }));
    const fromDocument = DOCUMENTED_VERSIONS.flatMap(({ version }) =>
      Object.entries(openApiDocument({ version, servers: [] }).paths ?? {}).flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => ({
          apiVersion: version,
          path,
          method: method.toUpperCase(),
          operationId: operation.operationId,
          deprecated: operation.deprecated ?? false,
          successStatus: Object.keys(operation.responses)
            .map(Number)
            .find((status) => status < 300),
        })),
      ),
    );
    // The documents go by version, the routes by procedure.
    const byVersion = fromRoutes.map(({ procedure: _, ...route }) => route);
    byVersion.sort((a, b) => a.apiVersion.localeCompare(b.apiVersion));
    const names = ({ apiVersion, path, method }: (typeof byVersion)[number]) => `${apiVersion} ${path} ${method}`;
    expect(new Map(byVersion.map((route) => [names(route), route]))).toEqual(
      new Map(fromDocument.map((route) => [names(route as never), expect.objectContaining(route)])),
    );
    expect(fromRoutes).toEqual(
      fromProcedures.map(({ name, apiVersion, method, path, operationId, deprecatedAt }) =>
        expect.objectContaining({
          procedure: name,
          apiVersion,
          method,
          path,
          operationId,
          deprecated: deprecatedAt !== undefined,
        }),
      ),
    );
  });

  test('are exactly the documented operations', () => {
    const written = restRoutes.map(
      ({ method, apiVersion, path, operationId }) => `${method} /${apiVersion}${path} ${operationId}`,
    );
    expect(written).toEqual([
      'GET /v1/store/orders listOrders',
      'GET /v2/store/orders/{orderId} getOrder',
      'DELETE /v1/store/orders/{orderId} cancelOrder',
      'DELETE /v2/store/orders/{orderId} cancelOrder',
      'GET /v1/pets/{petId} getPetById',
      'GET /v2/store/orders listOrdersPage',
    ]);
  });

  test('have a name by procedure, the same in all its versions, by which metrics know them', () => {
    const names = new Map(restRoutes.map(({ procedure, operationId }) => [procedure, operationId]));
    expect(new Set(names.values()).size).toBe(names.size);
    for (const { procedure, operationId } of restRoutes) expect(operationId).toBe(names.get(procedure));
  });

  test('document the parameters of a query as it is read, and none where it is not', () => {
    const parametersOf = (version: ApiVersion) =>
      Object.values(openApiDocument({ version, servers: [] }).paths ?? {}).flatMap((item) =>
        Object.values(item).flatMap(({ parameters = [] }) =>
          // The document's types allow references, of which there are none.
          (parameters as { in: string; name: string; required?: boolean; description?: string }[]).filter(
            (parameter) => parameter.in === 'query',
          ),
        ),
      );
    expect(parametersOf('v1')).toEqual([]);
    expect(parametersOf('v2').map(({ name }) => name)).toEqual(Object.keys(ListOrdersPageInput.shape));
    for (const parameter of parametersOf('v2')) {
      expect(parameter).toMatchObject({ description: expect.stringMatching(/\S/), schema: expect.anything() });
      expect(parameter.required ?? false).toBe(false);
    }
  });

  test('leave what is undocumented to tRPC', () => {
    const undocumented = procedures.filter(([, meta]) => meta?.openapi === undefined).map(([name]) => name);
    expect(undocumented).toEqual(['orders.place', 'orders.ship', 'orders.complete', 'orders.events', 'limits.current']);
  });
});

const LOOSE_INTEGERS = [
  ...['0x1', '1e0', '1e3', '1.0', '+1', '007', '-0', '', ' 1', '1 ', '1_000', 'one', '٣', '1n', 'NaN', 'null'],
  ...['9223372036854775808', '-9223372036854775809', '99999999999999999999'],
];

describe('path parameters', () => {
  const orders = [0n, 1n, 3n, 7n, 1000n].map(pendingOrder);
  beforeAll(() => api.importOrders(...orders));

  test.each(LOOSE_INTEGERS)('refuse %j, and nothing happens to any order', async (text) => {
    for (const [operation, parameter] of [
      ['cancelOrder', 'orderId'],
      ['getPetById', 'petId'],
    ] as const) {
      await expect(api.callRest(operation, { [parameter]: text })).rejects.toMatchObject({
        errorCode: 'invalid_request',
        message: expect.stringContaining(`${parameter}: must be a 64-bit integer`),
      });
    }
    for await (const batch of await api.callAs(INTERNAL).orders.list()) expect(batch).toEqual(orders);
  });

  test('that are missing are refused', async () => {
    await expect(api.callRest('cancelOrder', {})).rejects.toMatchObject({ errorCode: 'invalid_request' });
  });

  test('are never repeated in a refusal', async () => {
    const refusal = api.callRest('cancelOrder', { orderId: 'pso_live_secret' });
    await expect(refusal).rejects.toMatchObject({ message: expect.not.stringContaining('pso_live') });
  });
});

describe('after calls over REST', () => {
  test('tRPC is as strict as before', async () => {
    await api.callRest('cancelOrder', { orderId: '5' }).catch(() => {});
    await api.callRest('getPetById', { petId: '5' }).catch(() => {});
    for (const orderId of ['5', 5, '0x5', null, new Date(), true]) {
      expect(CancelOrderInput.safeParse({ orderId }).success).toBe(false);
      // @ts-expect-error the types refuse it as well
      await expect(api.callAs(EXTERNAL).orders.cancel({ orderId })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    }
  });
});

describe('a procedure that cannot be mapped is refused at start', () => {
  const t = initTRPC.context<Context>().meta<ProcedureMeta>().create();
  const openapi = { method: 'GET', path: '/things/{thingId}', operationId: 'getThing' } as const;
  const rest = { errors: [] } as const;
  // Builders are of another type after each step, so that the tests below hand them in `as never`.
  const map = (procedure: typeof t.procedure) => createRestRoutes(t.router({ get: procedure.query(() => null) }));

  test('without meta.rest', () => {
    const make = () => map(t.procedure.meta({ openapi }).input(z.strictObject({ thingId: z.int64() })) as never);
    expect(make).toThrow('get has meta.openapi but no meta.rest');
  });
  test('with a response that nothing writes', () => {
    const meta = { openapi, rest: { ...rest, response: z.string() } };
    const make = () => map(t.procedure.meta(meta).input(z.strictObject({ thingId: z.int64() })) as never);
    expect(make).toThrow('get has meta.rest.response but no meta.rest.serialize');
  });
  test('with an input that the path does not hold', () => {
    const input = z.strictObject({ thingId: z.int64(), colour: z.string() });
    expect(() => map(t.procedure.meta({ openapi, rest }).input(input) as never)).toThrow('exactly the parameters of');
  });
  test('with a parameter that is no 64-bit integer', () => {
    const input = z.strictObject({ thingId: z.string() });
    expect(() => map(t.procedure.meta({ openapi, rest }).input(input) as never)).toThrow('must be a 64-bit integer');
  });
  test('but one that is right takes every 64-bit integer exactly, and no other text', async () => {
    const serialize = (output: unknown) => ({ type: 'json', text: String(output) }) as const;
    const procedure = t.procedure
      .meta({ openapi, rest: { ...rest, serialize } })
      .input(z.strictObject({ thingId: z.int64() }));
    const [route] = createRestRoutes(t.router({ get: procedure.query(({ input }) => input.thingId) }));
    const answer = (thingId: string) => route?.call({ thingId }, api.contextOf(EXTERNAL));
    const int64 = fc.bigInt({ min: INT64_MIN, max: INT64_MAX });
    await fc.assert(
      fc.asyncProperty(int64, async (id) => {
        expect(await answer(`${id}`)).toEqual({ type: 'json', text: `${id}` });
      }),
    );
    const text = fc.oneof(
      fc.string(),
      fc.mixedCase(fc.constant('0xff')),
      fc.double().map(String),
      fc.bigInt().map(String),
    );
    const isInt64 = (digits: string) => /^-?\d+$/.test(digits) && `${BigInt.asIntN(64, BigInt(digits))}` === digits;
    await fc.assert(
      fc.asyncProperty(
        text.filter((candidate) => !isInt64(candidate)),
        async (other) => {
          await expect(answer(other)).rejects.toMatchObject({ errorCode: 'invalid_request' });
        },
      ),
    );
  });

  test('with a query parameter of a type that a query does not hold', () => {
    const input = z.strictObject({ thingId: z.int64(), colour: z.object({}) });
    const procedure = t.procedure.meta({ openapi, rest, versions: { v2: 'beta' } }).input(input);
    expect(() => map(procedure as never)).toThrow('get: colour is of a type that a query does not hold');
  });

  test('but one with several parameters is mapped', async () => {
    const path = '/shelves/{shelfId}/things/{thingId}';
    const input = z.strictObject({ thingId: z.int64(), shelfId: z.int64() });
    const serialize = (output: unknown) => ({ type: 'json', text: String(output) }) as const;
    const procedure = t.procedure.meta({ openapi: { ...openapi, path }, rest: { ...rest, serialize } }).input(input);
    const router = t.router({ get: procedure.query((opts) => `${opts.input.shelfId}/${opts.input.thingId}`) });
    const [route] = createRestRoutes(router);
    const result = await route?.call({ thingId: '2', shelfId: '-1' }, api.contextOf(EXTERNAL));
    expect(result).toEqual({ type: 'json', text: '-1/2' });
  });
});

describe("our way of calling a procedure gives what tRPC's own gives", () => {
  const t = initTRPC.context<Context>().create();
  const log: string[] = [];
  const watched = t.procedure.use(async ({ next, path, type, ctx }) => {
    const result = await next({ ctx: { who: ctx.principal.type } });
    log.push(`${path} ${type} ${result.ok}`);
    return result;
  });
  const router = t.router({
    plain: t.procedure.query(() => 'plain'),
    changesContext: watched.query(({ ctx }) => [ctx.who, ctx.requestId]),
    takesInput: watched
      .input(z.object({ a: z.bigint() }))
      .input(z.object({ b: z.string() }))
      .mutation(({ input }) => input),
    changesInput: t.procedure
      .input(z.object({ a: z.bigint() }))
      .use(({ next }) => next({ getRawInput: async () => ({ b: 'from the middleware' }) }))
      .input(z.object({ b: z.string() }))
      .query(({ input }) => input),
    checksOutput: t.procedure.output(z.string()).query(() => 5 as unknown as string), // what the types refuse, and only a check finds
    throwsApiError: watched.query(() => {
      throw new ApiError('order_not_found');
    }),
    throwsAnything: watched.query(() => {
      throw new RangeError('out of it');
    }),
    guarded: t.procedure
      .use(({ ctx, next }) => {
        if (!isInternal(ctx.principal)) throw new ApiError('insufficient_scope');
        return next();
      })
      .query(() => 'in'),
  });
  const inputs = [undefined, { a: 1n, b: 'x' }, { a: 'wrong', b: 'x' }, { a: 1n }, 'text'];
  const names = Object.keys(router._def.procedures) as (keyof typeof router._def.procedures)[];
  const cases = names.flatMap((name) => inputs.map((input) => [name, input] as const));

  test.each(cases)('%s with %o', async (name, input) => {
    const outcome = async (call: () => Promise<unknown>) => {
      log.length = 0;
      const [settled] = await Promise.allSettled([call()]);
      const logged = [...log];
      if (settled.status === 'fulfilled') return { value: settled.value, logged };
      const { code, message, cause } = settled.reason;
      return { type: settled.reason.constructor, code, message, cause: cause?.constructor, logged };
    };
    for (const principal of [EXTERNAL, INTERNAL]) {
      const ctx = api.contextOf(principal);
      const procedure = router._def.procedures[name];
      const own = await outcome(() => createProcedureCall(name, procedure)(ctx, input));
      const trpc = await outcome(() =>
        // biome-ignore lint/suspicious/noExplicitAny: every input goes to every procedure, right or wrong
        (router.createCaller(ctx)[name] as (input: any) => Promise<unknown>)(input),
      );
      expect(own).toEqual(trpc);
    }
  });
});
