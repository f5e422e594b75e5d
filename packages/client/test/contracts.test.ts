import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProcedureContract, procedureContracts } from '@petstore/api';
import { ORDER_COMMANDS } from '@petstore/domain';
import { expect, expectTypeOf, test } from 'vitest';
import {
  DOCUMENT_TYPES,
  ERROR_CODES_FILE,
  generateDocumentTypes,
  generateErrorCodes,
  generateTraits,
  TRAITS_FILE,
} from '../scripts/document-types.ts';
import type { Order, OrderEventV2, OrderFilter, OrderV2, Pet, PetstoreRestClient } from '../src/rest.ts';
import { traitsOf } from '../src/trpc/procedures.ts';
import { type Shown, showInEditor } from './support/editor.ts';

test.each(DOCUMENT_TYPES)('the types of $file are those of the document', async (types) => {
  const committed = readFileSync(types.file, 'utf8');
  expect(committed, 'The document has changed: run "pnpm --filter @petstore/client generate".').toBe(
    await generateDocumentTypes(types),
  );
});

test('the codes of errors are those of the catalogue', () => {
  const committed = readFileSync(ERROR_CODES_FILE, 'utf8');
  expect(committed, 'The catalogue has changed: run "pnpm --filter @petstore/client generate".').toBe(
    generateErrorCodes(),
  );
});

test('what callers see is typed: ids are bigint, and no field of an order is promised', () => {
  expectTypeOf<Order>().toEqualTypeOf<{
    id?: bigint;
    petId?: bigint;
    quantity?: number;
    shipDate?: string;
    complete?: boolean;
  }>();
  expectTypeOf<Pet>().toEqualTypeOf<{ id: bigint; name: string }>();
  expectTypeOf<Parameters<PetstoreRestClient['cancelOrder']>[0]>().toEqualTypeOf<{ orderId: bigint }>();
});

test('v2 promises the fields of an event, whose position is a text', () => {
  expectTypeOf<OrderEventV2>().toEqualTypeOf<{
    id: string;
    type: 'order.placed' | 'order.imported' | 'order.shipped' | 'order.completed' | 'order.cancelled';
    orderId: bigint;
    at: string;
    order: OrderV2;
  }>();
});

test('v2 promises the fields of an order, and takes its filters by their types', () => {
  expectTypeOf<OrderV2>().toEqualTypeOf<{
    id: bigint;
    petId: bigint;
    quantity: number;
    shipDate?: string;
    complete: boolean;
    status: 'pending' | 'shipped' | 'cancelled';
    placedAt: string;
    shippedAt?: string;
    completedAt?: string;
    cancelledAt?: string;
  }>();
  expectTypeOf<OrderFilter>().toEqualTypeOf<{
    status?: 'pending' | 'shipped' | 'cancelled';
    petId?: bigint;
    order?: 'asc' | 'desc';
    limit?: number;
  }>();
});

test('what the client knows of procedures is what their contracts say', () => {
  const committed = readFileSync(TRAITS_FILE, 'utf8');
  expect(committed, 'A contract has changed: run "pnpm --filter @petstore/client generate".').toBe(generateTraits());
  expect(traitsOf('orders.list')).toEqual({ streams: true });
  expect(traitsOf('orders.place')).toEqual({ repetition: { type: 'idempotency-key' } });
  expect(traitsOf('orders.get')).toEqual({});
});

test('the result of a repeated transition is that of a query with the same input', () => {
  const transitions = [...procedureContracts.values()].flatMap((contract) =>
    contract.type === 'mutation' && contract.repetition.type === 'transition'
      ? [{ ...contract, ...contract.repetition }]
      : [],
  );
  expect(transitions).toHaveLength(ORDER_COMMANDS.length);
  for (const { resultOf, input } of transitions) {
    if (resultOf === undefined) continue;
    const query = procedureContracts.get(resultOf);
    expect(query?.type).toBe('query');
    expect(query?.input?.safeParse({ orderId: 1n })).toEqual(input?.safeParse({ orderId: 1n }));
  }
});

const PACKAGE = join(import.meta.dirname, '..');

const PROGRAM = `import type { TRPCClient } from '@trpc/client';
import type { AppRouter, PetstoreClient } from './src/index.ts';
declare const client: PetstoreClient;
declare const own: TRPCClient<AppRouter>`;

/** From the most stable to the least. */
const STABILITIES = ['stable', 'beta', 'experimental'] as const;
const MARKS: readonly string[] = ['beta', 'experimental', 'deprecated'];

/** Methods of the REST client that are not named by their operation. */
const METHODS: Readonly<Record<string, string>> = {
  listOrdersPage: 'listOrders',
  listOrderEvents: 'orderEvents',
  getLimits: 'limits',
  getKey: 'key',
};

/** What a contract says about each way to call its procedure. */
function* callsOf(name: string, contract: ProcedureContract): Generator<readonly [expression: string, shown: Shown]> {
  const { openapi, deprecation } = contract;
  const shown = (stability: string): Shown => ({
    tags: MARKS.filter((mark) => mark === stability || (mark === 'deprecated' && deprecation !== undefined)),
    isStruckThrough: deprecation !== undefined,
  });
  const versions = openapi === undefined ? {} : contract.versions;
  const overTrpc = STABILITIES.find((stability) => Object.values(versions).includes(stability)) ?? 'stable';
  yield [`own.${name}`, shown(overTrpc)];
  // The client of this package follows events by a method of its own.
  if (name !== 'orders.events') yield [`client.${name}`, shown(overTrpc)];
  for (const [version, stability] of Object.entries(versions)) {
    const { operationId = '' } = openapi ?? {};
    const method = METHODS[operationId] ?? operationId;
    yield [`client.rest.${version === 'v1' ? '' : `${version}.`}${method}`, shown(stability)];
  }
}

test('an editor shows how stable each call is, and which is deprecated, as its contract says', () => {
  const expected = new Map([...procedureContracts].flatMap((entry) => [...callsOf(...entry)]));
  expect(expected.get('client.orders.get')?.tags).toEqual(['beta']);
  expect(expected.get('client.orders.cancel')?.tags).toEqual([]);
  expect(expected.get('client.rest.v2.cancelOrder')?.tags).toEqual(['beta']);
  expect(expected.get('client.pets.get')).toEqual({ tags: ['deprecated'], isStruckThrough: true });
  const shown = showInEditor(PACKAGE, PROGRAM, [...expected.keys()], { extends: './tsconfig.json' });
  const marks = Array.from(shown, ([expression, { tags, isStruckThrough }]) => [
    expression,
    { tags: tags.filter((tag) => MARKS.includes(tag)), isStruckThrough },
  ]);
  expect(Object.fromEntries(marks)).toEqual(Object.fromEntries(expected));
});
