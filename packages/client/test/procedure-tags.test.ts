import { join } from 'node:path';
import { type ProcedureContract, procedureContracts } from '@petstore/api';
import { expect, test } from 'vitest';
import { type Shown, showInEditor } from './support/editor.ts';

const PACKAGE = join(import.meta.dirname, '..');

const PROGRAM = `import type { TRPCClient } from '@trpc/client';
import type { AppRouter, PetstoreClient } from './src/index.ts';
declare const client: PetstoreClient;
declare const own: TRPCClient<AppRouter>`;

/** What a contract says about calls over tRPC. */
function marksOf(contract: ProcedureContract): Shown {
  const stabilities = contract.openapi === undefined ? [] : Object.values(contract.versions);
  const stability = (['stable', 'beta', 'experimental'] as const).find((one) => stabilities.includes(one)) ?? 'stable';
  const isDeprecated = contract.deprecation !== undefined;
  const tags = [...(stability === 'stable' ? [] : [stability]), ...(isDeprecated ? ['deprecated'] : [])];
  return { tags, isStruckThrough: isDeprecated };
}

test('an editor shows how stable each procedure is, and which is deprecated, as its contract says', () => {
  const expected = new Map(
    [...procedureContracts].flatMap(([name, contract]) => {
      // The client of this package follows events by a method of its own.
      const clients = contract.type === 'subscription' ? ['own'] : ['own', 'client'];
      return clients.map((client) => [`${client}.${name}`, marksOf(contract)] as const);
    }),
  );
  expect(expected.get('client.orders.get')?.tags).toEqual(['beta']);
  expect(expected.get('client.orders.cancel')?.tags).toEqual([]);
  expect(expected.get('client.pets.get')).toEqual({ tags: ['deprecated'], isStruckThrough: true });
  expect(showInEditor(PACKAGE, PROGRAM, [...expected.keys()], { extends: './tsconfig.json' })).toEqual(expected);
});
