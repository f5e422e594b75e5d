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
          404: { description: 'Gone.' },
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
    },
    headers: { 'X-At-Times': { schema: { type: 'string' } } },
    securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key.' } },
  },
});

const operation = (document: Loose) => document.paths['/things/{id}'].put;
const thing = (document: Loose) => document.components.schemas.Thing;
const input = (document: Loose) => document.components.schemas.Input;

function changesAfter(edit: (document: Loose) => void, prepare: (document: Loose) => void = () => {}) {
  const released = specimen();
  prepare(released);
  const current = structuredClone(released);
  edit(current);
  const changes = findBreakingChanges(released as JsonObject, current as JsonObject, NOW);
  return changes.map(({ at, what }) => `${at}: ${what}`);
}

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
  ])('%s', (_, edit, change) => {
    expect(changesAfter(edit)).toEqual([change]);
  });

  test('to ask for a key where none was needed', () => {
    const open = (document: Loose) => (operation(document).security = []);
    expect(changesAfter((document) => delete operation(document).security, open)).toEqual([`${PUT}: security changed`]);
  });

  test('to remove what is deprecated before its sunset', () => {
    const deprecate = (document: Loose) =>
      Object.assign(operation(document), { deprecated: true, 'x-sunset': '2026-11-21' });
    expect(changesAfter((document) => delete document.paths['/things/{id}'], deprecate)).toHaveLength(1);
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
    ['to serve it elsewhere', (d) => (d.servers = [{ url: 'https://elsewhere.example' }])],
  ])('%s', (_, edit) => {
    expect(changesAfter(edit)).toEqual([]);
  });

  test.each(['experimental', 'beta'])('to change what is %s', (stability) => {
    const unsettle = (document: Loose) => (operation(document)['x-stability'] = stability);
    expect(changesAfter((document) => delete document.paths['/things/{id}'], unsettle)).toEqual([]);
  });

  test('to remove what is deprecated after its sunset', () => {
    const deprecate = (document: Loose) =>
      Object.assign(operation(document), { deprecated: true, 'x-sunset': '2026-11-19' });
    expect(changesAfter((document) => delete document.paths['/things/{id}'], deprecate)).toEqual([]);
  });
});

test('a reference that leads nowhere is told', () => {
  expect(() => changesAfter((document) => delete document.components.headers['X-At-Times'])).toThrow(
    '#/components/headers/X-At-Times leads nowhere',
  );
});

test('version 1 keeps every status that it has', () => {
  const file = documentFiles().find((name) => basename(name) === 'openapi.json');
  const released = readDocument(file ?? '');
  const current: Loose = structuredClone(released);
  for (const item of Object.values<Loose>(current.paths)) {
    for (const [method, { responses }] of Object.entries<Loose>(item)) {
      for (const status of Object.keys(responses)) {
        const kept = responses[status];
        delete responses[status];
        expect(findBreakingChanges(released, current, NOW), `${method} ${status}`).toHaveLength(1);
        responses[status] = kept;
      }
    }
  }
});
