import {
  appRouter,
  DOCUMENTED_VERSIONS,
  type DocumentedContract,
  type ProcedureContract,
  procedureContracts,
  type VersionDescription,
} from '@petstore/api';
import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi';
import { describe, expect, test } from 'vitest';
import { documentFile, readDocument } from '../src/documents.ts';
import { generateDocument } from '../src/generate/generate-document.ts';

const V1 = DOCUMENTED_VERSIONS.find(({ version }) => version === 'v1') as VersionDescription; // there always is
/** Contracts of operations that respond with 204 to DELETE at the paths that they are named by. */
const contractsOf = (specimens: Readonly<Record<string, Partial<DocumentedContract>>>) =>
  new Map(
    Object.entries(specimens).map(([operationId, specimen]) => {
      const openapi = { method: 'DELETE', path: `/${operationId}`, operationId } as const;
      const contract = {
        type: 'mutation',
        versions: { v1: 'stable' },
        openapi,
        rest: { errors: [] },
        ...specimen,
      } as const;
      return [operationId, contract satisfies ProcedureContract];
    }),
  );

type Operation = Readonly<Record<string, unknown>>;

/** By path, without its slash. */
function generateOperations(
  specimens: Readonly<Record<string, Partial<DocumentedContract>>>,
): Readonly<Record<string, Operation>> {
  const { paths } = JSON.parse(JSON.stringify(generateDocument(contractsOf(specimens), V1)));
  return Object.fromEntries(Object.keys(paths).map((path) => [path.slice(1), paths[path].delete]));
}

const extensionsOf = (operation: Operation = {}) =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => name.startsWith('x-')));

describe('a generated document', () => {
  test.each(DOCUMENTED_VERSIONS)(
    'of $version is the committed one: run "pnpm --filter @petstore/tooling-openapi generate" after a change',
    (about) => {
      const generated = JSON.parse(JSON.stringify(generateDocument(procedureContracts, about)));
      expect(readDocument(documentFile(about.fileName))).toEqual(generated);
    },
  );

  test('holds the operations of its own version alone', () => {
    const contracts = contractsOf({
      a: {},
      b: { versions: { v2: 'stable' } },
      c: { versions: { v1: 'stable', v2: 'beta' } },
    });
    const pathsOf = (version: 'v1' | 'v2') => Object.keys(generateDocument(contracts, { ...V1, version }).paths ?? {});
    expect(pathsOf('v1')).toEqual(['/a', '/c']);
    expect(pathsOf('v2')).toEqual(['/b', '/c']);
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
      b: { versions: { v1: 'beta' } },
      c: { versions: { v1: 'experimental' } },
      d: { versions: { v1: 'stable', v2: 'beta' } },
    });
    expect(extensionsOf(a)).toEqual({});
    expect(extensionsOf(b)).toEqual({ 'x-stability': 'beta' });
    expect(extensionsOf(c)).toEqual({ 'x-stability': 'experimental' });
    expect(extensionsOf(d)).toEqual({});
  });

  test('is of the contracts that the procedures have as their metadata', () => {
    const seen: unknown[] = [];
    // Its types ask metadata for an index signature, which interfaces do not have.
    generateOpenApiDocument(appRouter as unknown as OpenApiRouter, {
      title: '',
      version: '',
      baseUrl: '/',
      filter({ metadata }) {
        seen.push(metadata);
        return false;
      },
    });
    const contracts = [...procedureContracts.values()].filter(({ openapi }) => openapi !== undefined);
    expect(seen).toEqual(contracts);
  });
});
