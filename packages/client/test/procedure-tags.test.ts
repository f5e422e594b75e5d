import { join } from 'node:path';
import { type ProcedureContract, procedureContracts } from '@petstore/api';
import { expect, test } from 'vitest';
import { type Shown, showInEditor } from './support/editor.ts';

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
};

/** What a contract says about each way to call its procedure. */
function* callsOf(name: string, contract: ProcedureContract): Generator<readonly [expression: string, shown: Shown]> {
  const { type, openapi, deprecation } = contract;
  const shown = (stability: string): Shown => ({
    tags: MARKS.filter((mark) => mark === stability || (mark === 'deprecated' && deprecation !== undefined)),
    isStruckThrough: deprecation !== undefined,
  });
  const versions = openapi === undefined ? {} : contract.versions;
  const overTrpc = STABILITIES.find((stability) => Object.values(versions).includes(stability)) ?? 'stable';
  yield [`own.${name}`, shown(overTrpc)];
  // The client of this package follows events by a method of its own.
  if (type !== 'subscription') yield [`client.${name}`, shown(overTrpc)];
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
