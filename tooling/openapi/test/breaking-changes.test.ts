import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findBreakingChanges } from '../src/compatibility/breaking-changes.ts';
import type { JsonObject } from '../src/compatibility/json.ts';
import { documentFiles, readDocument } from '../src/documents.ts';

// A document is edited freely here, as JSON.
// biome-ignore lint/suspicious/noExplicitAny: it is whatever a test makes of it
type Loose = any;

const NOW = new Date('2026-11-20T00:00:00Z');

/** One operation with everything that rules are about. */
const specimen = (): Loose => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1.0.0' },
  security: [{ key: [] }],
  paths: {
    '/things/{id}': {
      put: {
        operationId: 'putThing',
        parameters: [
          { in: 'path', name: 'id', required: true, schema: { type: 'integer', format: 'int64' } },
          { in: 'query', name: 'sort', schema: { type: 'string', enum: ['up', 'down'], maxLength: 4 } },
        ],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Input' } } } },
        responses: {
          200: {
            description: 'Done.',
            headers: {
              'X-Always': { required: true, schema: { type: 'integer', minimum: 0, maximum: 9 } },
              'X-At-Times': { $ref: '#/components/headers/X-At-Times' },
            },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          204: { description: 'Nothing.' },
          404: {
            description: 'Gone.',
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Error' },
                examples: {
                  gone: { value: { code: 'gone', status: 404 } },
                  lost: { value: { code: 'lost', status: 404 } },
                },
              },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Input: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, size: { type: ['integer', 'null'], minimum: 1, maximum: 5 } },
        additionalProperties: true,
      },
      Thing: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { type: 'integer', format: 'int64' },
          state: { type: 'string', enum: ['new', 'old'] },
          code: { type: 'string', pattern: '^a', maxLength: 3 },
          parts: { type: 'array', maxItems: 3, items: { type: 'integer', minimum: 0 } },
        },
        additionalProperties: false,
      },
      Error: {
        type: 'object',
        required: ['code'],
        properties: { code: { type: 'string', enum: ['gone', 'lost', 'to_come'] }, status: { type: 'integer' } },
      },
    },
    headers: { 'X-At-Times': { schema: { type: 'string' } } },
    securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key.' } },
  },
});

const operation = (document: Loose) => document.paths['/things/{id}'].put;
const thing = (document: Loose) => document.components.schemas.Thing;
const told = (document: Loose) => operation(document).responses[404].content['application/json'].examples;
const codes = (document: Loose) => document.components.schemas.Error.properties.code.enum;
const input = (document: Loose) => document.components.schemas.Input;

function changesAfter(edit: (document: Loose) => void, prepare: (document: Loose) => void = () => {}) {
  const released = specimen();
  prepare(released);
  const current = structuredClone(released);
  edit(current);
  // Specimens are objects of JSON; their own types are looser.
  const changes = findBreakingChanges(released as JsonObject, current as JsonObject, NOW);
  return changes.map(({ at, what }) => `${at}: ${what}`);
}

const deprecate = (sunset: string) => (document: Loose) =>
  Object.assign(operation(document), { deprecated: true, 'x-sunset': sunset });

const PUT = 'PUT /things/{id}';
const BODY = `${PUT} > request body > application/json`;
const ANSWER = `${PUT} > 200 > application/json`;

describe('it breaks callers', () => {
  test.each<[string, (document: Loose) => void, string]>([
    ['to remove a path', (d) => delete d.paths['/things/{id}'], `${PUT}: the operation was removed`],
    ['to remove an operation', (d) => delete d.paths['/things/{id}'].put, `${PUT}: the operation was removed`],
    [
      'to rename an operation',
      (d) => (operation(d).operationId = 'x'),
      `${PUT}: operationId changed: clients are generated with it`,
    ],
    [
      'to unsettle an operation',
      (d) => (operation(d)['x-stability'] = 'beta'),
      `${PUT}: a stable operation became less than stable`,
    ],
    ['to ask for another key', (d) => (d.components.securitySchemes.key.scheme = 'basic'), `${PUT}: security changed`],
    ['to ask for one more key', (d) => (operation(d).security = [{ key: [], other: [] }]), `${PUT}: security changed`],

    ['to remove a parameter', (d) => operation(d).parameters.pop(), `${PUT} > query parameter sort: it was removed`],
    [
      'to add a required parameter',
      (d) => operation(d).parameters.push({ in: 'query', name: 'a', required: true }),
      `${PUT} > query parameter a: a required parameter was added`,
    ],
    [
      'to add one to the path item',
      (d) => (d.paths['/things/{id}'].parameters = [{ in: 'header', name: 'a', required: true }]),
      `${PUT} > header parameter a: a required parameter was added`,
    ],
    [
      'to require a parameter',
      (d) => (operation(d).parameters[1].required = true),
      `${PUT} > query parameter sort: it became required`,
    ],
    [
      'to write a parameter in another way',
      (d) => (operation(d).parameters[1].explode = true),
      `${PUT} > query parameter sort: explode changed`,
    ],
    [
      'to take fewer values',
      (d) => operation(d).parameters[1].schema.enum.pop(),
      `${PUT} > query parameter sort: enum lost "down"`,
    ],
    [
      'to take shorter values',
      (d) => (operation(d).parameters[1].schema.maxLength = 3),
      `${PUT} > query parameter sort: maxLength went from 4 to 3`,
    ],
    [
      'to take another type',
      (d) => (operation(d).parameters[0].schema.type = 'string'),
      `${PUT} > path parameter id: type lost "integer"`,
    ],
    [
      'to take values in one format',
      (d) => (operation(d).parameters[1].schema.format = 'date'),
      `${PUT} > query parameter sort: format went from none to "date"`,
    ],

    [
      'to require a body',
      (d) => (operation(d).requestBody.required = true),
      `${PUT} > request body: it became required`,
    ],
    [
      'to take another media type',
      (d) => (operation(d).requestBody.content = { 'text/plain': {} }),
      `${PUT} > request body > application/json: the media type was removed`,
    ],
    ['to require a property', (d) => input(d).required.push('size'), `${BODY}: size became required`],
    ['to take no property any more', (d) => delete input(d).properties.size, `${BODY}: the property size was removed`],
    ['to raise a minimum', (d) => (input(d).properties.size.minimum = 2), `${BODY} > size: minimum went from 1 to 2`],
    [
      'to add a maximum',
      (d) => (input(d).properties.name.maxLength = 9),
      `${BODY} > name: maxLength went from none to 9`,
    ],
    ['to take null no more', (d) => (input(d).properties.size.type = ['integer']), `${BODY} > size: type lost "null"`],
    [
      'to refuse other properties',
      (d) => (input(d).additionalProperties = false),
      `${BODY} > additionalProperties: enum was added`,
    ],
    [
      'to have other alternatives',
      (d) => (input(d).anyOf = [{}]),
      `${BODY}: anyOf changed, which this check cannot judge`,
    ],

    [
      'to remove a status of failure',
      (d) => delete operation(d).responses[404],
      `${PUT} > 404: the status was removed`,
    ],
    [
      'to remove a status of success',
      (d) => delete operation(d).responses[204],
      `${PUT} > 204: the status was removed`,
    ],
    [
      'to add a status of success',
      (d) => (operation(d).responses[202] = {}),
      `${PUT} > 202: another status of success was added`,
    ],
    [
      'to remove a header',
      (d) => delete operation(d).responses[200].headers['X-At-Times'],
      `${PUT} > 200 > header X-At-Times: it was removed`,
    ],
    [
      'to send a header at times only',
      (d) => delete operation(d).responses[200].headers['X-Always'].required,
      `${PUT} > 200 > header X-Always: it became optional`,
    ],
    [
      'to widen a header',
      (d) => (operation(d).responses[200].headers['X-Always'].schema.maximum = 10),
      `${PUT} > 200 > header X-Always: maximum went from 9 to 10`,
    ],
    [
      'to change a header elsewhere',
      (d) => (d.components.headers['X-At-Times'].schema.type = 'integer'),
      `${PUT} > 200 > header X-At-Times: type gained "integer"`,
    ],
    [
      'to remove a media type',
      (d) => (operation(d).responses[200].content = { 'text/plain': {} }),
      `${PUT} > 200 > application/json: the media type was removed`,
    ],
    [
      'to add a body',
      (d) => (operation(d).responses[204].content = { 'text/plain': {} }),
      `${PUT} > 204: a body was added`,
    ],
    ['to remove a property', (d) => delete thing(d).properties.state, `${ANSWER}: the property state was removed`],
    ['to leave a property out', (d) => (thing(d).required = []), `${ANSWER}: id became optional`],
    ['to answer another type', (d) => (thing(d).properties.id.type = 'string'), `${ANSWER} > id: type gained "string"`],
    [
      'to answer null',
      (d) => (thing(d).properties.id.type = ['integer', 'null']),
      `${ANSWER} > id: type gained "null"`,
    ],
    [
      'to answer another value',
      (d) => thing(d).properties.state.enum.push('lost'),
      `${ANSWER} > state: enum gained "lost"`,
    ],
    ['to answer any value', (d) => delete thing(d).properties.state.enum, `${ANSWER} > state: enum was removed`],
    [
      'to answer in another format',
      (d) => (thing(d).properties.id.format = 'int32'),
      `${ANSWER} > id: format went from "int64" to "int32"`,
    ],
    [
      'to answer other texts',
      (d) => delete thing(d).properties.code.pattern,
      `${ANSWER} > code: pattern went from "^a" to none`,
    ],
    [
      'to answer longer texts',
      (d) => (thing(d).properties.code.maxLength = 4),
      `${ANSWER} > code: maxLength went from 3 to 4`,
    ],
    [
      'to answer longer arrays',
      (d) => delete thing(d).properties.parts.maxItems,
      `${ANSWER} > parts: maxItems went from 3 to none`,
    ],
    [
      'to answer other items',
      (d) => delete thing(d).properties.parts.items.minimum,
      `${ANSWER} > parts > items: minimum went from 0 to none`,
    ],
    [
      'to answer other properties',
      (d) => (thing(d).additionalProperties = true),
      `${ANSWER} > additionalProperties: enum was removed`,
    ],

    ['to remove an error code', (d) => codes(d).pop(), 'Error > code: the error code to_come was removed'],
    [
      'to add an error code',
      (d) => codes(d).push('taken'),
      `${PUT} > 404 > application/json > code: enum gained "taken"`,
    ],
    ['to answer with one error code less', (d) => delete told(d).lost, `${PUT} > 404: the error code lost went away`],
    [
      'to answer with an error code under another status',
      (d) => (told(d).lost.value.status = 410),
      `${PUT} > 404: the error code lost went from 404 to 410`,
    ],
    [
      'to announce an end that is past',
      (d) => Object.assign(operation(d), { deprecated: true, 'x-sunset': '2026-11-19' }),
      `${PUT}: x-sunset 2026-11-19 is past`,
    ],
  ])('%s', (_, edit, change) => {
    expect(changesAfter(edit)).toEqual([change]);
  });

  test('to ask for a key where none was needed', () => {
    const open = (document: Loose) => (operation(document).security = []);
    expect(changesAfter((document) => delete operation(document).security, open)).toEqual([`${PUT}: security changed`]);
  });

  test.each([
    ['earlier', '2026-12-31'],
    ['a date that is none', 'soon'],
  ])('to move a sunset to %s', (_, sunset) => {
    const change = `${PUT}: x-sunset ${sunset} is earlier than 2027-06-30`;
    expect(changesAfter((document) => (operation(document)['x-sunset'] = sunset), deprecate('2027-06-30'))).toEqual([
      change,
    ]);
  });

  test('to remove what is deprecated before its sunset', () => {
    expect(changesAfter((document) => delete document.paths['/things/{id}'], deprecate('2026-11-21'))).toHaveLength(1);
  });
});

describe('it breaks nobody', () => {
  test.each<[string, (document: Loose) => void]>([
    ['to change nothing', () => {}],
    ['to add an operation', (d) => (d.paths['/new'] = { get: { operationId: 'new', responses: {} } })],
    ['to tell it in other words', (d) => Object.assign(operation(d), { description: 'New words.', tags: ['a'] })],
    ['to describe a key in other words', (d) => (d.components.securitySchemes.key.description = 'Our key.')],
    [
      'to give examples',
      (d) => (operation(d).responses[200].content['application/json'].examples = { a: { value: 1 } }),
    ],
    ['to accept a second kind of key', (d) => (operation(d).security = [{ key: [] }, { other: [] }])],
    ['to ask for no key', (d) => (operation(d).security = [])],
    ['to add an optional parameter', (d) => operation(d).parameters.push({ in: 'query', name: 'a', schema: {} })],
    ['to take more values', (d) => operation(d).parameters[1].schema.enum.push('left')],
    ['to take any text', (d) => (operation(d).parameters[1].schema = { type: 'string' })],
    ['to take one more property', (d) => (input(d).properties.more = { type: 'string' })],
    ['to require less', (d) => (input(d).required = [])],
    ['to lower a minimum', (d) => (input(d).properties.size.minimum = 0)],
    ['to answer one more property', (d) => (thing(d).properties.more = { type: 'string' })],
    ['to promise a property', (d) => thing(d).required.push('state')],
    ['to answer fewer values', (d) => thing(d).properties.state.enum.pop()],
    ['to promise more of a text', (d) => (thing(d).properties.state.format = 'word')],
    ['to promise a header', (d) => (d.components.headers['X-At-Times'].required = true)],
    ['to add a header', (d) => (operation(d).responses[404].headers = { 'X-More': { schema: {} } })],
    ['to add a status of failure', (d) => (operation(d).responses[409] = { description: 'Taken.' })],
    ['to move a schema in place', (d) => (operation(d).responses[200].content['application/json'].schema = thing(d))],
    ['to answer with one error code more', (d) => (told(d).to_come = { value: { code: 'to_come', status: 404 } })],
    [
      'to tell an error code elsewhere',
      (d) => {
        const { lost } = told(d);
        delete told(d).lost;
        operation(d).responses.default = {
          description: 'Other.',
          content: { 'application/json': { examples: { lost } } },
        };
      },
    ],
    ['to tell an error code in other words', (d) => (told(d).lost.value.message = 'Lost.')],
    ['to announce an end', (d) => Object.assign(operation(d), { deprecated: true, 'x-sunset': '2027-06-30' })],
    ['to serve it elsewhere', (d) => (d.servers = [{ url: 'https://elsewhere.example' }])],
  ])('%s', (_, edit) => {
    expect(changesAfter(edit)).toEqual([]);
  });

  test.each(['experimental', 'beta'])('to change what is %s', (stability) => {
    const unsettle = (document: Loose) => (operation(document)['x-stability'] = stability);
    expect(changesAfter((document) => delete document.paths['/things/{id}'], unsettle)).toEqual([]);
  });

  test('to remove what is deprecated after its sunset', () => {
    expect(changesAfter((document) => delete document.paths['/things/{id}'], deprecate('2026-11-19'))).toEqual([]);
  });

  test.each<[string, (document: Loose) => void]>([
    ['to put a sunset off', (d) => (operation(d)['x-sunset'] = '2027-07-01')],
    ['to take a sunset back', (d) => delete operation(d)['x-sunset']],
  ])('%s', (_, edit) => {
    expect(changesAfter(edit, deprecate('2027-06-30'))).toEqual([]);
  });
});

test('a reference that leads nowhere is told', () => {
  expect(() => changesAfter((document) => delete document.components.headers['X-At-Times'])).toThrow(
    '#/components/headers/X-At-Times leads nowhere',
  );
});

describe('version 1 keeps', () => {
  const file = documentFiles().find((name) => basename(name) === 'openapi.json');
  const released = readDocument(file ?? '');
  const changesOf = (current: Loose) => findBreakingChanges(released, current, NOW);

  test('every status that it has', () => {
    const current: Loose = structuredClone(released);
    for (const item of Object.values<Loose>(current.paths)) {
      for (const [method, { responses }] of Object.entries<Loose>(item)) {
        for (const status of Object.keys(responses)) {
          const { [status]: kept, ...others } = responses;
          item[method].responses = others;
          expect(changesOf(current)[0]?.what, `${method} ${status}`).toBe('the status was removed');
          item[method].responses = { ...others, [status]: kept };
        }
      }
    }
  });

  test('every error code that callers branch on', () => {
    // The imported file's own type is too narrow to be walked.
    const known: string[] = (released as Loose).components.schemas.Error.properties.code.enum;
    expect(known.length).toBeGreaterThan(20);
    for (const code of known) {
      const current: Loose = structuredClone(released);
      codes(current).splice(known.indexOf(code), 1);
      expect(changesOf(current)).toEqual([{ at: 'Error > code', what: `the error code ${code} was removed` }]);
    }
  });

  test('every error code that an operation tells', () => {
    const texts = JSON.stringify(released).matchAll(/"(\w+)":\{"summary":"[^"]*","value":\{"code":"\1"/g);
    const tellable = new Set(Array.from(texts, ([, code = '']) => code));
    expect(tellable).toContain('order_already_shipped');
    for (const code of tellable) {
      const withoutIt = (key: string, value: unknown) => (key === code ? undefined : value);
      const current = JSON.parse(JSON.stringify(released), withoutIt);
      expect(changesOf(current).map(({ what }) => what)).toContain(`the error code ${code} went away`);
    }
  });
});
