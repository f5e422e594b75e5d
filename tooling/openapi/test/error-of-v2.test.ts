import {
  ApiError,
  type ApiVersion,
  type Context,
  createRestRouter,
  DOCUMENTED_VERSIONS,
  type DocumentedContract,
  defineOperation,
  ERROR_CATALOGUE,
  type ErrorCode,
  restRoutes,
  toErrorResponse,
} from '@petstore/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateDocument } from '../src/generate/generate-document.ts';

// An error of v2 alone is an entry of the catalogue, and a name in contracts.

const CODE = 'order_too_heavy' as ErrorCode; // during these tests
beforeAll(() => {
  const message = 'The order is too heavy.';
  const entry = { ...ERROR_CATALOGUE.order_already_shipped, message, inV1: 'order_already_shipped', response: message };
  Object.assign(ERROR_CATALOGUE, { [CODE]: entry });
});
afterAll(() => void Reflect.deleteProperty(ERROR_CATALOGUE, CODE));

/** What the document of a version says of 409 from an operation of both versions with these errors. */
function documentedConflict(version: ApiVersion, ...errors: readonly ErrorCode[]) {
  const contract: DocumentedContract = {
    type: 'query',
    versions: { v1: 'stable', v2: 'beta' },
    openapi: { method: 'GET', path: '/a', operationId: 'a' },
    rest: { errors },
  };
  const router = createRestRouter(new Map([['a', defineOperation(contract, async () => {})]]), version);
  const about = DOCUMENTED_VERSIONS.find((described) => described.version === version);
  if (about === undefined) throw new Error('a version has a document');
  const { paths, components } = JSON.parse(JSON.stringify(generateDocument(router, about)));
  const { description, content } = paths['/a'].get.responses[409];
  const codes = Object.keys(content['application/json'].examples);
  const inSchema = components.schemas.Error.properties.code.enum.filter((code: string) => /order/.test(code));
  expect(inSchema.toSorted()).toEqual(codes.toSorted());
  return { description, codes };
}

describe('an error of v2 alone', () => {
  test('is documented in v2', () => {
    expect(documentedConflict('v2', CODE)).toEqual({ description: 'The order is too heavy.', codes: [CODE] });
    const both = { description: 'Conflict', codes: ['order_already_shipped', CODE] };
    expect(documentedConflict('v2', 'order_already_shipped', CODE)).toEqual(both);
  });

  test('leaves the document of v1 as it is without', () => {
    const without = documentedConflict('v1', 'order_already_shipped');
    expect(without).toEqual({ description: 'The order is no longer pending.', codes: ['order_already_shipped'] });
    expect(documentedConflict('v1', 'order_already_shipped', CODE)).toEqual(without);
    expect(documentedConflict('v1', CODE)).toEqual(without);
  });

  test.each([
    ['v1', 'order_already_shipped', 'The order has already shipped. Shipped orders cannot be reversed.'],
    ['v2', CODE, 'The order is too heavy.'],
  ])('is in a response of %s %s', async (version, code, message) => {
    const route = restRoutes.find((each) => each.apiVersion === version && each.operationId === 'cancelOrder');
    const refusing = {
      principal: { type: 'in-process', name: 'test' },
      services: { orders: { applyCommand: () => Promise.reject(new ApiError(CODE)) }, clock: () => new Date() },
    } as unknown as Context; // all that the operation reads before it is refused
    const response = await route?.call({ orderId: '1' }, refusing).catch(toErrorResponse);
    expect(response).toMatchObject({ status: 409, body: JSON.stringify({ code, message, status: 409 }) });
  });
});
