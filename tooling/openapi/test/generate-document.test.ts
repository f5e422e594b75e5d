import {
  createRestRouter,
  DOCUMENTED_VERSIONS,
  type DocumentedContract,
  defineOperation,
  restRouters,
  type VersionDescription,
} from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { documentFile, readDocument } from '../src/documents.ts';
import { generateDocument } from '../src/generate/generate-document.ts';

const V1 = DOCUMENTED_VERSIONS.find(({ version }) => version === 'v1') as VersionDescription; // there always is

type Specimens = Readonly<Record<string, Partial<Pick<DocumentedContract, 'versions' | 'openapi' | 'access'>>>>;

/** The document of operations that respond with 204 to DELETE at the paths that they are named by. */
function generateFor(specimens: Specimens, version: 'v1' | 'v2' = 'v1') {
  const operations = Object.entries(specimens).map(([operationId, specimen]) => {
    const contract: DocumentedContract = {
      type: 'query',
      versions: { v1: 'stable' },
      openapi: { method: 'DELETE', path: `/${operationId}`, operationId },
      rest: { errors: [] },
      ...specimen,
    };
    return [operationId, defineOperation(contract, async () => {})] as const;
  });
  return generateDocument(createRestRouter(new Map(operations), version), { ...V1, version });
}

type Operation = Readonly<Record<string, unknown>>;

/** By path, without its slash. */
function generateOperations(specimens: Specimens): Readonly<Record<string, Operation>> {
  const { paths } = JSON.parse(JSON.stringify(generateFor(specimens)));
  return Object.fromEntries(Object.keys(paths).map((path) => [path.slice(1), paths[path].delete]));
}

const extensionsOf = (operation: Operation = {}) =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => name.startsWith('x-')));

describe('a generated document', () => {
  test.each(DOCUMENTED_VERSIONS)(
    'of $version is the committed one: run "pnpm --filter @petstore/tooling-openapi generate" after a change',
    (about) => {
      const generated = JSON.parse(JSON.stringify(generateDocument(restRouters[about.version], about)));
      expect(readDocument(documentFile(about.fileName))).toEqual(generated);
    },
  );

  test('holds the operations of its own version alone', () => {
    const specimens: Specimens = {
      a: {},
      b: { versions: { v2: 'stable' } },
      c: { versions: { v1: 'stable', v2: 'beta' } },
    };
    const pathsOf = (version: 'v1' | 'v2') => Object.keys(generateFor(specimens, version).paths ?? {});
    expect(pathsOf('v1')).toEqual(['/a', '/c']);
    expect(pathsOf('v2')).toEqual(['/b', '/c']);
  });

  test('has a description of each group of operations', () => {
    const openapi = { method: 'DELETE', path: '/a', operationId: 'emptyCart' } as const;
    expect(() => generateFor({ a: { openapi: { ...openapi, tags: ['orders'] } } })).not.toThrow();
    expect(() => generateFor({ a: { openapi: { ...openapi, tags: ['orders', 'carts'] } } })).toThrow(
      'emptyCart has the tag carts: describe it for v1 in packages/api/src/openapi/versions.ts.',
    );
  });

  test('says where no key is needed', () => {
    const openapi = { method: 'DELETE', path: '/a', operationId: 'a', protect: false } as const;
    const { a, b } = generateOperations({ a: { openapi }, b: {} });
    expect(a?.['security']).toEqual([]);
    expect(b).not.toHaveProperty('security');
  });

  test('says whom an operation refuses: nobody, or all whose keys are not internal', () => {
    const { a, b } = generateOperations({ a: {}, b: { access: 'internal' } });
    expect(a?.['responses']).not.toHaveProperty('403');
    expect(b).toHaveProperty('responses.403.description', 'The API key is not internal, or it is read-only.');
    const examples = 'responses.403.content.application/json.examples.insufficient_scope'.split(/\.(?!json)/);
    expect(b).toHaveProperty([...examples, 'value', 'message'], expect.stringContaining('internal keys only'));
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
});
