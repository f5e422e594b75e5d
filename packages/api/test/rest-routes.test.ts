import { INT64_MAX, INT64_MIN } from '@petstore/domain';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  createRestRouter,
  defineOperation,
  openApiDocument,
  procedureContracts,
  restRoutes,
  toApiError,
} from '../src/index.ts';
import { int64, int64AsText, int64Complaint, int64Error } from '../src/int64.ts';
import { type ApiVersion, DOCUMENTED_VERSIONS } from '../src/openapi/versions.ts';
import type { DocumentedContract, ProcedureContract } from '../src/procedure-contract.ts';
import { cancelOrder } from '../src/procedures/orders/cancel-order.ts';
import { inputObject } from '../src/procedures/schemas.ts';
import { listOrdersPage } from '../src/procedures/v2/orders/list-orders-page.ts';
import { inputFromTexts, parametersOf } from '../src/rest/parameters.ts';
import { createQueryReader } from '../src/rest/query.ts';
import { createRestHandler } from '../src/rest/rest-handler.ts';
import { EXTERNAL, INTERNAL, startTestApi, type TestApi } from './test-api.ts';

function documented(contract: ProcedureContract): DocumentedContract {
  if (contract.openapi === undefined) throw new Error('It is not documented.');
  return contract;
}

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('an operation by POST', () => {
  const description = { path: '/orders/{orderId}/wrap', operationId: 'wrapOrder' } as const;
  const defineWrap = (fields: z.ZodRawShape = {}, wrap = (id: bigint) => id) =>
    defineOperation(
      {
        type: 'mutation',
        repetition: { type: 'transition', doneCode: 'order_already_shipped' },
        input: inputObject({ orderId: int64('Identifier of the order.'), ...fields }),
        versions: { v2: 'beta' },
        openapi: { method: 'POST', ...description },
        rest: { errors: [], response: z.object({ id: int64AsText('Identifier of the order.') }) },
      },
      async ({ input }) => ({ id: wrap(input.orderId) }),
    );
  const call = (operation = defineWrap()) => {
    const handle = createRestHandler(createRestRouter(new Map([['orders.wrap', operation]]), 'v2'), toApiError);
    const path = { method: 'POST', path: description.path, params: { orderId: '7' } };
    return handle({ ...path, query: {}, context: api.contextOf(INTERNAL) });
  };

  test('takes its input from the path, and no body', async () => {
    expect(await call()).toEqual({ type: 'json', text: '{"id":"7"}' });
  });

  test('is a fault of ours if its body is not as its contract says', async () => {
    const wrong = defineWrap({}, () => 'seven' as never);
    await expect(call(wrong)).rejects.toMatchObject({ errorCode: 'internal_error', cause: expect.any(z.ZodError) });
  });

  test('is refused as it is defined if its path lacks a field: neither query nor body would be read', () => {
    expect(() => defineWrap({ paper: z.string().optional() })).toThrow(
      'wrapOrder by POST takes paper, but only GET and DELETE have a query: put it in the path.',
    );
  });
});

describe('mounted routes, document and procedures', () => {
  test('are one set', () => {
    const lineOf = (...facts: readonly unknown[]) => facts.join(' ');
    const ofContracts = [...procedureContracts.values()].flatMap((contract) => {
      if (contract.openapi === undefined) return [];
      const { versions, openapi, deprecation, rest } = contract;
      const { method, path, operationId } = openapi;
      const status = rest.response === undefined ? 204 : 200;
      return Object.keys(versions).map((version) =>
        lineOf(version, method, path, operationId, deprecation !== undefined, status),
      );
    });
    const ofRoutes = restRoutes.map(({ apiVersion, method, path, operationId, deprecation, successStatus }) =>
      lineOf(apiVersion, method, path, operationId, deprecation !== undefined, successStatus),
    );
    const ofDocuments = DOCUMENTED_VERSIONS.flatMap(({ version }) =>
      Object.entries(openApiDocument({ version, servers: [] }).paths ?? {}).flatMap(([path, item]) =>
        Object.entries(item).map(([method, { operationId, deprecated = false, responses }]) => {
          const successes = Object.keys(responses).filter((status) => status < '300');
          return lineOf(version, method.toUpperCase(), path, operationId, deprecated, ...successes);
        }),
      ),
    );
    expect(ofRoutes.toSorted()).toEqual(ofContracts.toSorted());
    expect(ofDocuments.toSorted()).toEqual(ofRoutes.toSorted());
  });

  test('leave placing, shipping and completing to tRPC, and nothing else', () => {
    const undocumented = [...procedureContracts].filter(([, { openapi }]) => openapi === undefined);
    expect(undocumented.map(([name]) => name)).toEqual(['orders.place', 'orders.ship', 'orders.complete']);
  });

  test('document the parameters of a query as it is read, and none where it is not', () => {
    const inDocument = (version: ApiVersion) =>
      Object.values(openApiDocument({ version, servers: [] }).paths ?? {}).flatMap((item) =>
        Object.values(item).flatMap(({ parameters = [] }) =>
          // The document's types allow references, of which there are none.
          (parameters as { in: string; name: string; required?: boolean; description?: string }[]).filter(
            (parameter) => parameter.in === 'query',
          ),
        ),
      );
    expect(inDocument('v1')).toEqual([]);
    const names = restRoutes
      .filter(({ apiVersion }) => apiVersion === 'v2')
      .flatMap(({ procedure, path }) => {
        const contract = procedureContracts.get(procedure);
        const own = contract?.openapi === undefined ? [] : [...parametersOf(contract).keys()];
        return own.filter((name) => !path.includes(`{${name}}`));
      });
    expect(inDocument('v2').map(({ name }) => name)).toEqual(names);
    expect(names).toEqual(expect.arrayContaining(['after', 'limit', 'wait', 'cursor']));
    for (const parameter of inDocument('v2')) {
      expect(parameter).toMatchObject({ description: expect.stringMatching(/\S/), schema: expect.anything() });
      expect(parameter.required ?? false).toBe(false);
    }
  });
});

describe('path parameters', () => {
  test('take every 64-bit integer exactly, and no other text', () => {
    const schema = inputFromTexts(documented(cancelOrder.contract));
    const read = (text: string) => schema.parse({ orderId: text })['orderId'];
    fc.assert(
      fc.property(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (id) => {
        expect(read(`${id}`)).toBe(id);
      }),
    );
    const text = fc.oneof(
      fc.string(),
      fc.mixedCase(fc.constant('0xff')),
      fc.double().map(String),
      fc.bigInt().map(String),
    );
    const isInt64 = (digits: string) => /^-?\d+$/.test(digits) && `${BigInt.asIntN(64, BigInt(digits))}` === digits;
    fc.assert(
      fc.property(
        text.filter((candidate) => !isInt64(candidate)),
        (other) => {
          expect(() => read(other)).toThrow(int64Error);
        },
      ),
    );
  });

  test.each(['', '.', '..', '...', '/', '?', '#', '%2e', '%', '../order-events', '7/..', 'ä', '__proto__'])(
    '%j leads to no other operation',
    async (orderId) => {
      await expect(api.callRest('getOrder', { orderId })).rejects.toMatchObject({
        message: int64Complaint('orderId'),
      });
    },
  );

  test('that are missing are refused', async () => {
    await expect(api.callRest('cancelOrder', {})).rejects.toMatchObject({ errorCode: 'invalid_request' });
  });
});

describe('after calls over REST', () => {
  test('tRPC is as strict as before', async () => {
    await api.callRest('cancelOrder', { orderId: '5' }).catch(() => {});
    await api.callRest('getPetById', { petId: '5' }).catch(() => {});
    for (const orderId of ['5', 5, '0x5', null, new Date(), true]) {
      expect(cancelOrder.contract.input?.safeParse({ orderId }).success).toBe(false);
      // @ts-expect-error the types refuse it as well
      await expect(api.callAs(EXTERNAL).orders.cancel({ orderId })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    }
  });
});

const SHAPE = {
  petId: z.int64().optional(),
  limit: z.int().optional(),
  text: z.string().optional(),
  status: z.array(z.enum(['pending', 'shipped'])).optional(),
};
const readTexts = createQueryReader(new Map(Object.entries(SHAPE)));
const schema = inputFromTexts({
  type: 'query',
  input: z.strictObject(SHAPE),
  versions: { v2: 'beta' },
  openapi: { method: 'GET', path: '/x', operationId: 'x' },
  rest: { errors: [] },
});
/** As trpc-to-openapi hands the texts on: it takes the only text of a parameter out of its list. */
const read = (query: string) =>
  schema.parse(
    Object.fromEntries(
      Object.entries(readTexts(query)).map(([name, texts]) => [name, texts.length === 1 ? texts[0] : texts]),
    ),
  );

describe('a query', () => {
  test.each<[string, object]>([
    ['', {}],
    ['limit=5', { limit: 5 }],
    ['petId=9223372036854775807', { petId: INT64_MAX }],
    ['status=pending&limit=1&status=shipped', { status: ['pending', 'shipped'], limit: 1 }],
    ['%6Cimit=%35', { limit: 5 }],
    ['text=a=b', { text: 'a=b' }],
    ['text', { text: '' }],
  ])('%s is read by its types', (query, input) => {
    expect(read(query)).toEqual(input);
  });

  test.each([
    ...['limit=05', 'limit=%2B5', 'limit=5.0', 'limit=', 'limit=9007199254740993000'],
    ...['petId=1.0', 'petId=9223372036854775808', 'petId='],
  ])('%s is refused', (query) => {
    const [name = ''] = query.split('=');
    expect(() => read(query)).toThrow(expect.objectContaining({ issues: [expect.objectContaining({ path: [name] })] }));
  });

  test.each(['limit=1&limit=2', 'limit=1&limit=1', 'text=&text=', 'limit=x&limit=y'])(
    '%s is refused: what is no list may be given only once',
    (query) => {
      expect(() => read(query)).toThrow('may be given only once');
    },
  );

  test.each([
    ['page=2', 'page: unknown parameter.'],
    ['Limit=2', 'Limit: unknown parameter.'],
    ['filter[status]=pending', 'filter[status]: unknown parameter.'],
    ['pso_live_abcd1234=1', 'The query contains an unknown parameter.'],
    ['pso_live_abcd1234[]=pending', 'The query contains an unknown parameter.'],
    ['__proto__=1', '__proto__: unknown parameter.'],
    ['constructor=1', 'constructor: unknown parameter.'],
    ['=1', 'The query contains an unknown parameter.'],
  ])('%s is refused with the parameters that there are', (query, start) => {
    expect(() => read(query)).toThrow(`${start} This operation accepts petId, limit, text, status.`);
  });

  test.each([
    [
      'status[]=pending',
      'status[]: must be written without brackets; repeat it for several values: status=A&status=B.',
    ],
    ['limit[]=5', 'limit[]: must be written without brackets.'],
  ])('%s is refused with how it is written', (query, message) => {
    expect(() => read(query)).toThrow(message);
  });

  test('never has a key repeated, wherever it stands', () => {
    const key = `pso_live_abcd1234_${'x'.repeat(38)}`;
    for (const query of [key, `${key}=1`, `limit=1&${key}`]) {
      expect(() => read(query)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('x'.repeat(9)) }),
      );
    }
  });

  test.each(['limit=%', 'limit=%zz', '%C0%80=1', 'text=%ff'])('%s is refused: it cannot be decoded', (query) => {
    expect(() => read(query)).toThrow('The query is not percent-encoded correctly.');
  });

  test('that a client writes is read as it was, whatever its values', () => {
    const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const inputs = fc.record({
      petId: optional(fc.bigInt({ min: INT64_MIN, max: INT64_MAX })),
      limit: optional(fc.integer()),
      text: optional(fc.string({ unit: 'grapheme' })),
      status: optional(fc.array(fc.constantFrom('pending', 'shipped'), { minLength: 1 })),
    });
    fc.assert(
      fc.property(inputs, (input) => {
        const given = Object.entries(input).filter(([, value]) => value !== undefined);
        const pairs = given.flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)]));
        expect(read(new URLSearchParams(pairs).toString())).toEqual(Object.fromEntries(given));
      }),
    );
  });
});

test('a parameter of a type that a URL does not hold is refused at start', () => {
  const contract = { ...documented(listOrdersPage.contract), input: z.object({ nested: z.object({}) }) };
  expect(() => inputFromTexts(contract)).toThrow('nested has a type');
});
