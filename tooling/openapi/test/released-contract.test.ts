import { describe, expect, test } from 'vitest';
import { type JsonObject, lastRelease, readDocument } from '../src/documents.ts';
import { findBrokenPromises } from '../src/released-contract.ts';

const NOW = new Date('2026-11-20T00:00:00Z');
const RELEASED = readDocument(lastRelease('1') ?? '');

/** What is found after one edit of the released document, written as JSON. */
function findAfter(edit: (text: string) => string, now = NOW): readonly string[] {
  const before = JSON.stringify(RELEASED);
  const after = edit(before);
  expect(after, 'the edit changes nothing').not.toBe(before);
  return findBrokenPromises(RELEASED, JSON.parse(after), now);
}

/** With one code less of those that a 401 may have. */
const narrowed = (text: string): string =>
  text.replace('"enum":["missing_api_key","invalid_api_key"]', '"enum":["missing_api_key"]');

/** A document of one operation, with what an edit of the real one does not reach. */
const document = (operation: object): JsonObject => JSON.parse(JSON.stringify({ paths: { '/a': { get: operation } } }));

describe('a document breaks its release when', () => {
  test.each<[string, (text: string) => string, string]>([
    ['a path goes', (text) => text.replace('"/store/orders":', '"/store/all":'), '/paths/~1store~1orders was removed'],
    [
      'an operation goes',
      (text) => text.replace('"delete":', '"post":'),
      '/paths/~1store~1orders~1{orderId}/delete was removed',
    ],
    [
      'an operation is renamed, as clients are generated with its name',
      (text) => text.replace('"operationId":"cancelOrder"', '"operationId":"cancel"'),
      '/paths/~1store~1orders~1{orderId}/delete/operationId went from "cancelOrder" to "cancel"',
    ],
    [
      'a response goes',
      (text) => text.replace('"204":', '"205":'),
      '/paths/~1store~1orders~1{orderId}/delete/responses/204 was removed',
    ],
    [
      'a header goes',
      (text) => text.replace('"X-RateLimit-Reset":', '"X-Reset":'),
      '/paths/~1store~1orders/get/responses/200/headers/X-RateLimit-Reset was removed',
    ],
    [
      'a property goes, behind a reference',
      (text) => text.replace(/"petId":(?=\{)/, '"pet":'),
      '/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/petId was removed',
    ],
    [
      'a property changes its type',
      (text) => text.replace('"complete":{"type":"boolean"', '"complete":{"type":"string"'),
      '/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/complete/type went from "boolean" to "string"',
    ],
    [
      'an error code comes to the closed set',
      (text) => text.replaceAll('"enum":["invalid_request"', '"enum":["new_code","invalid_request"'),
      '/paths/~1store~1orders/get/responses/400/content/application~1json/schema/properties/code/enum went from ',
    ],
    [
      'an error code goes from the closed set, though no response could hold it any more',
      (text) => text.replace('"enum":["invalid_request",', '"enum":['),
      '/components/schemas/Error/properties/code/enum went from ',
    ],
    [
      'a parameter is bounded',
      (text) => text.replace(/("in":"path","name":"orderId".*?"format":"int64")/, '$1,"maximum":9'),
      '/paths/~1store~1orders~1{orderId}/delete/parameters/path orderId/schema/maximum',
    ],
    [
      'another key is wanted',
      (text) => text.replace('"security":[{"bearerAuth":[]}]', '"security":[{"other":[]}]'),
      '/security/0/bearerAuth was removed',
    ],
  ])('%s', (_, edit, expected) => {
    const [first = ''] = findAfter(edit);
    expect(first.slice(0, expected.length)).toBe(expected);
  });

  test('a parameter must be sent that callers did not know', () => {
    const search = { in: 'query', name: 'search', schema: {} };
    expect(findBrokenPromises(document({ parameters: [] }), document({ parameters: [search] }), NOW)).toEqual([]);
    const required = { ...search, required: true };
    expect(findBrokenPromises(document({ parameters: [] }), document({ parameters: [required] }), NOW)).toEqual([
      '/paths/~1a/get/parameters/query search was added',
    ]);
  });

  test.each(['anyOf', 'oneOf', 'allOf', 'prefixItems'])(
    'a property goes behind a reference in %s, of a schema that contains itself',
    (among) => {
      const of = (name: string): JsonObject => {
        const node = { $ref: '#/components/schemas/Node' };
        const schema = { [among]: among === 'allOf' ? [node] : [node, { type: 'null' }] };
        const Node = { properties: { [name]: {}, parent: { oneOf: [node, { type: 'null' }] } } };
        const operation = { responses: { 200: { content: { 'application/json': { schema } } } } };
        return { ...document(operation), components: { schemas: { Node } } };
      };
      const [first = '', ...more] = findBrokenPromises(of('name'), of('title'), NOW);
      expect(first).toMatch(
        /^\/paths\/~1a\/get\/responses\/200\/content\/application~1json\/schema\/.*properties\/name was removed$/,
      );
      expect(more).toEqual([]);
      expect(findBrokenPromises(of('name'), of('name'), NOW)).toEqual([]);
    },
  );

  test('a response may be of one kind more', () => {
    const of = (...anyOf: readonly object[]) => document({ responses: { 200: { schema: { anyOf } } } });
    expect(findBrokenPromises(of({ type: 'null' }), of({ type: 'null' }, { type: 'string' }), NOW)).toEqual([
      '/paths/~1a/get/responses/200/schema/anyOf went from [{"type":"null"}] to [{"type":"null"},{"type":"string"}]',
    ]);
  });
});

test('a document breaks its release when a response may hold a code that it could not, though the set has it', () => {
  const before: JsonObject = JSON.parse(narrowed(JSON.stringify(RELEASED)));
  const found = findBrokenPromises(before, RELEASED, NOW);
  const at = '/paths/~1store~1orders/get/responses/401/content/application~1json/schema/properties/code/enum';
  expect(found.filter((difference) => difference.startsWith(`${at} went from `))).toHaveLength(1);
});

describe('a document keeps its release when', () => {
  test.each<[string, (text: string) => string]>([
    ['words change', (text) => text.replaceAll('"description":"', '"description":"Other words. ')],
    ['examples change', (text) => text.replaceAll('"quantity":2', '"quantity":3')],
    [
      'an operation is deprecated',
      (text) => text.replace('"operationId"', '"deprecated":true,"x-sunset":"2030-01-01","operationId"'),
    ],
    ['a path is added', (text) => text.replace('"paths":{', '"paths":{"/new":{"get":{"operationId":"new"}},')],
    ['an operation is added', (text) => text.replace('"delete":', '"post":{"operationId":"new"},"delete":')],
    ['a property is added', (text) => text.replace(/"petId":(?=\{)/, '"note":{"type":"string"},"petId":')],
    ['a header is added', (text) => text.replace('"X-RateLimit-Reset":', '"X-New":{"schema":{}},"X-RateLimit-Reset":')],
    ['a response lists the codes of its own', narrowed],
    ['an enumeration is in another order', (text) => text.replace(/"enum":\["(\w+)","(\w+)"/, '"enum":["$2","$1"')],
  ])('%s', (_, edit) => {
    expect(findAfter(edit)).toEqual([]);
  });

  test('a deprecated operation goes after its sunset, and not before', () => {
    const remove = (text: string) => text.replace('"/pets/{petId}":', '"/gone":');
    expect(findAfter(remove, new Date('2027-07-01T00:00:00Z'))).toEqual([]);
    expect(findAfter(remove)).toEqual(['/paths/~1pets~1{petId} was removed']);
  });
});
