import { describe, expect, test } from 'vitest';
import committed from '../openapi.json' with { type: 'json' };
import committedV2 from '../openapi.v2.json' with { type: 'json' };
import {
  type ApiVersion,
  type Context,
  DOCUMENTED_VERSIONS,
  ERROR_CATALOGUE,
  type ErrorCode,
  openApiDocument,
  procedureContracts,
  restRoutes,
  toErrorResponse,
} from '../src/index.ts';

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const { paths, components } = committed;

const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
];

interface ReadResponse {
  readonly $ref?: string;
  readonly headers: Record<string, object>;
  readonly content: {
    readonly 'application/json': {
      readonly schema: { readonly allOf: readonly [object, { readonly properties: { readonly code: object } }] };
      readonly examples: Record<string, { readonly value: unknown }>;
    };
  };
}

type ReadOperation = Readonly<Record<string, unknown>>;

interface ReadDocument {
  readonly paths: Record<string, Record<string, { responses: Record<string, ReadResponse>; deprecated?: boolean }>>;
  readonly components: { readonly responses: Record<string, ReadResponse> };
}

interface ReadErrors {
  readonly components: {
    readonly schemas: {
      readonly Error: {
        readonly properties: { readonly code: { readonly enum: readonly string[] } };
        readonly examples: readonly object[];
      };
    };
  };
}

/** Every response of every operation, references followed. */
const responsesOf = (document: ReadDocument) =>
  Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ responses, deprecated = false }) =>
      Object.entries(responses).map(([status, own]) => {
        const { $ref } = own;
        const response = $ref === undefined ? own : document.components.responses[$ref.replace(/.*\//, '')];
        if (response === undefined) throw new Error(`${$ref} leads nowhere`);
        return { status, response, deprecated };
      }),
    );

/** By operationId. */
function operationsOf(document: object): Readonly<Record<string, ReadOperation>> {
  // As the generator writes them; the assertions below read every part.
  const { paths: items } = plain(document) as { paths: Record<string, Record<string, ReadOperation>> };
  const operations = Object.values(items).flatMap((item) => Object.values(item));
  return Object.fromEntries(operations.map((operation) => [String(operation['operationId']), operation]));
}

const extensionsOf = (operation: ReadOperation = {}) =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => name.startsWith('x-')));

describe('the document', () => {
  test('of v1 is what is committed', () => {
    expect(openApiDocument({ servers: [] })).toEqual({ ...committed, servers: [] });
  });

  test('names the servers that it is offered at', () => {
    const servers = [
      { url: 'https://api.example.com/v1', description: 'Production' },
      { url: 'http://127.0.0.1:3000/v1' },
    ];
    const { paths: served, ...others } = openApiDocument({ servers });
    const { paths: _, ...expected } = committed;
    expect(others).toEqual({
      ...expected,
      externalDocs: { ...committed.externalDocs, url: 'https://api.example.com/docs' },
      servers: servers.map((server) => ({ ...server, 'x-internal': false })),
    });
    const text = JSON.stringify(served);
    expect(text).toBe(JSON.stringify(paths).replaceAll('https://api.petstore.example/', 'https://api.example.com/'));
    expect(text).toContain('"https://api.example.com/docs/versions#what-is-deprecated-now"');
  });

  test('is OpenAPI 3.1, with the deprecated operation in a group of its own', () => {
    expect(committed.openapi).toMatch(/^3\.1\.\d$/);
    expect(paths['/pets/{petId}'].get.tags).toEqual(['deprecated']);
    expect(committed['x-tagGroups']).toEqual([
      { name: 'Store', tags: ['Store', 'orders'] },
      { name: 'Pets', tags: ['Pets'] },
      { name: 'Deprecated', tags: ['deprecated'] },
    ]);
    expect(Object.keys(components.schemas)).toEqual(['Order', 'Pet', 'Error']);
  });

  test('lists what each operation responds with', () => {
    const statuses = ({ responses }: { responses: object }) => Object.keys(responses).join(' ');
    const { get: list } = paths['/store/orders'];
    const { delete: cancel } = paths['/store/orders/{orderId}'];
    expect(statuses(list)).toBe('200 400 401 429 500 503 default');
    expect(statuses(cancel)).toBe('204 400 401 403 404 409 429 500 503 default');
    expect(statuses(paths['/pets/{petId}'].get)).toBe('200 400 401 404 410 429 500 503 default');
    expect(list.responses[200].content['application/json'].schema).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Order' },
    });
    const conflict = cancel.responses[409].content['application/json'];
    expect(Object.keys(conflict.examples)).toEqual(['order_already_shipped', 'order_already_cancelled']);
  });

  test('has the headers of the limits on every response, and those that belong to a status', () => {
    // The committed document, generated in this form.
    for (const { status, response, deprecated } of responsesOf(plain(committed) as ReadDocument)) {
      const names = Object.keys(response.headers);
      expect(names).toEqual(expect.arrayContaining(ALWAYS));
      expect(names.includes('Retry-After')).toBe(status === '429' || status === '503');
      expect(names.includes('WWW-Authenticate')).toBe(status === '401' || status === '403');
      expect(['Deprecation', 'Sunset', 'Link'].map((name) => names.includes(name))).toEqual(Array(3).fill(deprecated));
    }
    for (const name of ALWAYS) expect(components.headers).toHaveProperty([name, 'required'], true);
  });

  test('gives an example of every success and of every error code', () => {
    // As it was generated.
    for (const { status, response } of responsesOf(plain(committed) as ReadDocument)) {
      if (status === '204') continue;
      const { examples } = response.content['application/json'];
      expect(Object.keys(examples).length).toBeGreaterThan(0);
      if (status === '200') continue;
      for (const [code, { value }] of Object.entries(examples)) {
        const { message, status: own } = ERROR_CATALOGUE[code as ErrorCode]; // else it has no message to compare
        // The message for a wrong input depends on the operation; see below.
        expect(value).toEqual({
          code,
          message: code === 'invalid_request' ? expect.any(String) : message,
          status: own,
        });
        if (status !== 'default') expect(String(own)).toBe(status);
      }
    }
    const { examples } = paths['/store/orders'].get.responses[200].content['application/json'];
    expect(examples.some.value.some((order) => !('shipDate' in order))).toBe(true);
  });

  test.each(DOCUMENTED_VERSIONS)(
    'of $version lists the error codes that its operations show, and no others',
    ({ version }) => {
      // As the generator writes it.
      const document = plain(openApiDocument({ version, servers: [] })) as ReadDocument & ReadErrors;
      const shown = responsesOf(document)
        .filter(({ status }) => status >= '400')
        .flatMap(({ response }) => Object.entries(response.content['application/json'].examples));
      const { properties, examples } = document.components.schemas.Error;
      expect([...properties.code.enum].sort()).toEqual([...new Set(shown.map(([code]) => code))].sort());
      // The conformance test of the server provokes what its operations show.
      const values = shown.map(([, { value }]) => value);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(values).toContainEqual(example);
    },
  );

  test.each(DOCUMENTED_VERSIONS)('of $version lists with each failure its own codes, and no others', ({ version }) => {
    // As the generator writes it.
    const document = plain(openApiDocument({ version, servers: [] })) as ReadDocument & ReadErrors;
    const failures = responsesOf(document).filter(({ status }) => status >= '400');
    expect(failures.length).toBeGreaterThan(15);
    for (const { status, response } of failures) {
      const { schema, examples } = response.content['application/json'];
      const codes = Object.keys(examples);
      expect(schema.allOf[0]).toEqual({ $ref: '#/components/schemas/Error' });
      expect(schema.allOf[1].properties.code).toEqual({ type: 'string', enum: codes });
      const ofOtherStatus = codes.filter((code) => String(ERROR_CATALOGUE[code as ErrorCode].status) !== status); // of the catalogue
      if (status !== 'default') expect(ofOtherStatus).toEqual([]);
    }
  });

  test('has the ids of v2 as strings in bodies, paths and filters, so that one that was read can be sent as it is', () => {
    const { paths: pathsV2, components: componentsV2 } = committedV2;
    const { description: _, ...id } = componentsV2.schemas.OrderV2.properties.id;
    expect(id).toMatchObject({ type: 'string', format: 'int64' });
    const { get, delete: cancel } = pathsV2['/store/orders/{orderId}'];
    const sent = [...pathsV2['/store/orders'].get.parameters, ...get.parameters, ...cancel.parameters];
    const schemas = sent.filter(({ name }) => name === 'orderId' || name === 'petId').map(({ schema }) => schema);
    expect(schemas).toEqual([id, id, id]);
  });

  test.each([
    ['v1', 'cancelOrder', { orderId: '0x1' }, ''],
    ['v1', 'getPetById', { petId: '+1' }, ''],
    ['v2', 'listOrdersPage', {}, 'limit=0'],
  ] as const)('of %s shows what %s says of a wrong input, word for word', async (version, id, params, query) => {
    // As the generator writes it; what is read of it is compared below.
    const { responses } = operationsOf(openApiDocument({ version, servers: [] }))[id] as unknown as {
      responses: Record<string, ReadResponse>;
    };
    const example = responses['400']?.content['application/json'].examples['invalid_request']?.value;
    const route = restRoutes.find(({ operationId }) => operationId === id);
    // It is refused before anything of the context is asked for.
    const refused = route?.call(params, { principal: { type: 'in-process', name: 'test' } } as Context, query);
    await expect(refused?.catch(toErrorResponse)).resolves.toMatchObject({ body: JSON.stringify(example) });
  });

  test('says which operations are less than stable: none of v1, and those of v2', () => {
    const shown = (document: object) =>
      Object.fromEntries(
        Object.entries(operationsOf(document)).map(([id, { 'x-stability': stability }]) => [id, stability]),
      );
    const promised = (version: ApiVersion) =>
      Object.fromEntries(
        restRoutes
          .filter(({ apiVersion }) => apiVersion === version)
          .map(({ operationId, procedure }) => {
            const contract = procedureContracts.get(procedure);
            const stability = contract?.openapi && contract.versions[version];
            return [operationId, stability === 'stable' ? undefined : stability];
          }),
      );
    expect(shown(committed)).toEqual(promised('v1'));
    expect(shown(committedV2)).toEqual(promised('v2'));
    const extensions = Object.values(operationsOf(committedV2)).flatMap((own) => Object.keys(extensionsOf(own)));
    expect(new Set(extensions)).toEqual(new Set(['x-stability']));
  });
});
