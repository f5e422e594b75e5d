import { readFileSync } from 'node:fs';
import { initTRPC } from '@trpc/server';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import committed from '../openapi.json' with { type: 'json' };
import { appRouter, type Context, openApiDocument, openApiYaml } from '../src/index.ts';
import { generateDocument } from '../src/openapi/generate-document.ts';
import { DOCUMENTED_VERSIONS, type VersionDescription } from '../src/openapi/versions.ts';
import { representNothing } from '../src/rest/represent.ts';
import type { ApiVersion, ProcedureMeta } from '../src/rest/rest-contract.ts';

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const { paths, components } = committed;

const V1 = DOCUMENTED_VERSIONS.find(({ version }) => version === 'v1') as VersionDescription; // there always is
const t = initTRPC.context<Context>().meta<ProcedureMeta>().create();

/** Procedures that answer 204 to DELETE at the path that they are named by. */
const routerOf = (metas: Readonly<Record<string, Partial<ProcedureMeta>>>) =>
  t.router(
    Object.fromEntries(
      Object.entries(metas).map(([operationId, meta]) => {
        const openapi = { method: 'DELETE', path: `/${operationId}`, operationId } as const;
        const rest = { errors: [], represent: representNothing };
        const specimen = t.procedure.meta({ openapi, rest, ...meta }).output(z.void());
        return [operationId, specimen.mutation(() => {})];
      }),
    ),
  );
const SPECIMENS = {
  a: {},
  b: { stability: 'beta' },
  c: { stability: 'experimental' },
  d: { stability: 'stable' },
} as const;
type SpecimenDocument = { paths: Record<string, { delete: Record<string, unknown> }> };

describe('the document', () => {
  test.each(DOCUMENTED_VERSIONS)(
    '$version is what the procedures say: run "pnpm --filter @petstore/api generate" after a change',
    (about) => {
      const text = readFileSync(new URL(`../${about.fileName}`, import.meta.url), 'utf8');
      expect(JSON.parse(text)).toEqual(plain(generateDocument(appRouter, about)));
      const { version } = about;
      if (version === 'v1') expect(openApiDocument({ version, servers: [] })).toEqual({ ...committed, servers: [] });
    },
  );

  test('holds the operations of its own version alone', () => {
    const { a, b, c } = SPECIMENS;
    const pathsOf = (version: ApiVersion) =>
      Object.keys(generateDocument(routerOf({ a, b: { ...b, apiVersion: 'v2' }, c }), { ...V1, version }).paths ?? {});
    expect(pathsOf('v1')).toEqual(['/a', '/c']);
    expect(pathsOf('v2')).toEqual(['/b']);
  });

  test('names the servers that it is offered at', async () => {
    const servers = [
      { url: 'https://api.example.com/v1', description: 'Production' },
      { url: 'http://127.0.0.1:3000/v1' },
    ];
    expect(openApiDocument({ servers })).toEqual({ ...committed, servers });
  });

  test('is the same as YAML', async () => {
    const servers = [{ url: 'https://api.example.com/v1' }];
    expect(parse(await openApiYaml({ servers }))).toEqual(openApiDocument({ servers }));
  });

  test('is OpenAPI 3.1, of version 1.0.0, with a bearer key for every operation', () => {
    expect(committed.openapi).toMatch(/^3\.1\.\d$/);
    expect(committed.info.version).toBe('1.0.0');
    expect(components.securitySchemes.bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
    expect(committed.security).toEqual([{ bearerAuth: [] }]);
  });

  test('groups the order operations under orders, declares Store and Pets, and sets the pet look-up apart', () => {
    expect(committed.tags.map(({ name }) => name)).toEqual(['orders', 'Store', 'Pets', 'deprecated']);
    for (const { description } of committed.tags) expect(description).toMatch(/\.$/);
    const tagged = Object.values(paths).flatMap((item) =>
      Object.values(item).map(({ operationId, tags }) => [operationId, tags]),
    );
    expect(tagged).toEqual([
      ['listOrders', ['orders']],
      ['cancelOrder', ['orders']],
      ['getPetById', ['deprecated']],
    ]);
  });

  test('requires no field of Order and every field of Error', () => {
    expect(components.schemas.Order).not.toHaveProperty('required');
    expect(Object.keys(components.schemas.Order.properties)).toEqual([
      'id',
      'petId',
      'quantity',
      'shipDate',
      'complete',
    ]);
    expect(components.schemas.Error.required).toEqual(['code', 'message', 'status']);
    expect(Object.keys(components.schemas)).toEqual(['Order', 'Pet', 'Error']);
  });

  test('has int64 ids in bodies and paths', () => {
    const int64 = expect.objectContaining({ type: 'integer', format: 'int64' });
    expect(components.schemas.Order.properties).toMatchObject({ id: int64, petId: int64 });
    const [orderId] = paths['/store/orders/{orderId}'].delete.parameters;
    expect(orderId).toMatchObject({ in: 'path', name: 'orderId', required: true, schema: int64 });
  });

  test('lists what each operation answers', () => {
    const statuses = ({ responses }: { responses: object }) => Object.keys(responses);
    expect(statuses(paths['/store/orders'].get)).toEqual(['200', '401', '429', '500', '503', 'default']);
    expect(statuses(paths['/store/orders/{orderId}'].delete)).toEqual([
      '204',
      '400',
      '401',
      '404',
      '409',
      '429',
      '500',
      '503',
      'default',
    ]);
    expect(statuses(paths['/pets/{petId}'].get)).toEqual([
      '200',
      '400',
      '401',
      '404',
      '410',
      '429',
      '500',
      '503',
      'default',
    ]);
    expect(paths['/store/orders'].get.responses[200].content['application/json'].schema).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Order' },
    });
    const conflict = paths['/store/orders/{orderId}'].delete.responses[409].content['application/json'];
    expect(Object.keys(conflict.examples)).toEqual(['order_already_shipped', 'order_already_cancelled']);
  });

  test('cancels with no body, either way', () => {
    const { delete: cancel } = paths['/store/orders/{orderId}'];
    expect(cancel).not.toHaveProperty('requestBody');
    expect(cancel.responses[204]).not.toHaveProperty('content');
  });

  test('has the headers of the limits on every answer, Retry-After on 429 and 503, and no dangling reference', () => {
    for (const item of Object.values(paths)) {
      for (const { responses } of Object.values(item)) {
        for (const [status, { headers }] of Object.entries(responses as Record<string, { headers: object }>)) {
          const names = Object.keys(headers);
          expect(names).toEqual(
            expect.arrayContaining(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']),
          );
          expect(names.includes('Retry-After')).toBe(status === '429' || status === '503');
        }
      }
    }
    for (const [, section = '', name = ''] of JSON.stringify(committed).matchAll(/#\/components\/(\w+)\/([\w-]+)/g)) {
      expect(components).toHaveProperty([section, name]);
    }
  });

  test('shows how stable an operation is, unless it is stable', () => {
    const document = plain(generateDocument(routerOf(SPECIMENS), V1)) as SpecimenDocument;
    const shown = Object.values(document.paths).map((item) => item.delete['x-stability']);
    expect(shown).toEqual([undefined, 'beta', 'experimental', undefined]);
    expect(JSON.stringify(committed)).not.toContain('x-stability');
  });
});
