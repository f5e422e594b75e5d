import {
  appRouter,
  type Context,
  DOCUMENTED_VERSIONS,
  type ProcedureMeta,
  type VersionDescription,
} from '@petstore/api';
import { initTRPC } from '@trpc/server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { documentFile, readDocument } from '../src/documents.ts';
import { generateDocument } from '../src/generate/generate-document.ts';

const V1 = DOCUMENTED_VERSIONS.find(({ version }) => version === 'v1') as VersionDescription; // there always is
const t = initTRPC.context<Context>().meta<ProcedureMeta>().create();
const NO_ERRORS = { errors: [], serialize: () => ({ type: 'empty' as const }) };

/** A router of procedures that respond with 204 to DELETE at the paths that they are named by. */
const routerOf = (metas: Readonly<Record<string, Partial<ProcedureMeta>>>) =>
  t.router(
    Object.fromEntries(
      Object.entries(metas).map(([operationId, meta]) => {
        const openapi = { method: 'DELETE', path: `/${operationId}`, operationId } as const;
        const specimen = t.procedure.meta({ openapi, rest: NO_ERRORS, ...meta }).output(z.void());
        return [operationId, specimen.mutation(() => {})];
      }),
    ),
  );

type Operation = Readonly<Record<string, unknown>>;

/** By path, without its slash. */
function generateOperations(
  metas: Readonly<Record<string, Partial<ProcedureMeta>>>,
): Readonly<Record<string, Operation>> {
  const { paths } = JSON.parse(JSON.stringify(generateDocument(routerOf(metas), V1)));
  return Object.fromEntries(Object.keys(paths).map((path) => [path.slice(1), paths[path].delete]));
}

const extensionsOf = (operation: Operation = {}) =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => name.startsWith('x-')));

describe('a generated document', () => {
  test.each(DOCUMENTED_VERSIONS)(
    'of $version is the committed one: run "pnpm --filter @petstore/tooling-openapi generate" after a change',
    (about) => {
      const generated = JSON.parse(JSON.stringify(generateDocument(appRouter, about)));
      expect(readDocument(documentFile(about.fileName))).toEqual(generated);
    },
  );

  test('holds the operations of its own version alone', () => {
    const router = routerOf({ a: {}, b: { apiVersion: 'v2' }, c: {} });
    const pathsOf = (version: 'v1' | 'v2') => Object.keys(generateDocument(router, { ...V1, version }).paths ?? {});
    expect(pathsOf('v1')).toEqual(['/a', '/c']);
    expect(pathsOf('v2')).toEqual(['/b']);
  });

  test('says where no key is needed', () => {
    const openapi = { method: 'DELETE', path: '/a', operationId: 'a', protect: false } as const;
    const { a, b } = generateOperations({ a: { openapi }, b: {} });
    expect(a?.['security']).toEqual([]);
    expect(b).not.toHaveProperty('security');
  });

  test('shows how stable an operation is, unless it is stable', () => {
    const { a, b, c, d } = generateOperations({
      a: {},
      b: { stability: 'beta' },
      c: { stability: 'experimental' },
      d: { stability: 'stable' },
    });
    expect(extensionsOf(a)).toEqual({});
    expect(extensionsOf(b)).toEqual({
      'x-stability': 'beta',
      'x-stability-level': 'beta',
      'x-scalar-stability': 'experimental',
      'x-badges': [{ name: 'Beta', color: 'blue' }],
    });
    expect(extensionsOf(c)).toEqual({
      'x-stability': 'experimental',
      'x-stability-level': 'alpha',
      'x-scalar-stability': 'experimental',
      'x-badges': [{ name: 'Experimental', color: 'purple' }],
    });
    expect(extensionsOf(d)).toEqual({});
  });

  test('is refused where an operation is deprecated without a sunset', () => {
    const rest = { ...NO_ERRORS, deprecatedAt: new Date(0) };
    expect(() => generateOperations({ a: { rest } })).toThrow('a is deprecated without a sunset');
  });
});
