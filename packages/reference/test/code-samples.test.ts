import { openApiDocument } from '@petstore/api';
import { startHttpServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { curlSample, typeScriptSample } from '../src/code-samples.ts';
import { operationsOf, resolveReferences } from '../src/open-api.ts';
import { checkTypeScript, runTypeScript } from './support/run-typescript.ts';

const BASE_URL = 'https://petstore.example.com/v1';
const PREVIEW = 'https://petstore.example.com/v2';

const operationsOfVersion = (version: 'v1' | 'v2') =>
  operationsOf(resolveReferences(openApiDocument({ version, servers: [{ url: BASE_URL }] })));

const samplesOf = (baseUrl: string, version: 'v1' | 'v2', operationId: string): Readonly<Record<string, string>> => {
  const found = operationsOfVersion(version).find((operation) => operation.operationId === operationId);
  return found ? { curl: curlSample(baseUrl, found), TypeScript: typeScriptSample(baseUrl, found) } : {};
};

const EVERY = (['v1', 'v2'] as const).flatMap((version) =>
  operationsOfVersion(version).map(({ operationId, method }) => [version, operationId, method] as const),
);

describe('code samples', () => {
  test.each(EVERY)('of %s %s hold no key, and name no order that a copy would change', (version, name, method) => {
    const samples = samplesOf(`https://petstore.example.com/${version}`, version, name);
    expect(Object.keys(samples)).toEqual(['curl', 'TypeScript']);
    for (const source of Object.values(samples)) {
      expect(source).toMatch(/https:\/\/petstore\.example\.com\/v[12]\/(?:store|pets|limits|key)/);
      expect(source).toContain('PETSTORE_API_KEY');
      expect(source).not.toMatch(/[{]\w+Id[}]/);
      if (method === 'GET') continue;
      expect(source).toContain('ORDER_ID');
      expect(source).not.toMatch(/orders\/\d/);
    }
  });

  test('of v2 show a filter and a page size', () => {
    for (const source of Object.values(samplesOf(PREVIEW, 'v2', 'listOrdersPage'))) {
      expect(source).toContain('https://petstore.example.com/v2/store/orders?status=pending&limit=100');
    }
  });

  test('in TypeScript run, and print the response', async () => {
    const requests: unknown[] = [];
    await using server = await startHttpServer((request, response) => {
      requests.push([request.url, request.headers.authorization]);
      if (request.method === 'DELETE') response.writeHead(204).end();
      else response.end('[{"id":9223372036854775807,"petId":1,"quantity":2}]');
    });
    const run = (operationId: string) =>
      runTypeScript(samplesOf(`${server.origin}/v1`, 'v1', operationId)['TypeScript'] ?? '', {
        PETSTORE_API_KEY: 'secret',
        ORDER_ID: '42',
      });
    expect(await run('listOrders')).toBe('[ { id: 9223372036854775807n, petId: 1n, quantity: 2 } ]\n');
    expect(await run('cancelOrder')).toBe('204\n');
    expect(requests).toEqual([
      ['/v1/store/orders', 'Bearer secret'],
      ['/v1/store/orders/42', 'Bearer secret'],
    ]);
  });

  test('in TypeScript print ids of v2, which are strings, as they are', async () => {
    await using server = await startHttpServer((_, response) => response.end('[{"id":"9223372036854775807"}]'));
    const source = samplesOf(`${server.origin}/v2`, 'v2', 'listOrdersPage')['TypeScript'] ?? '';
    expect(await runTypeScript(source, { PETSTORE_API_KEY: 'secret' })).toBe("[ { id: '9223372036854775807' } ]\n");
    expect(source).not.toContain('BigInt');
  });

  test('in TypeScript compile under strict rules', async () => {
    const samples = EVERY.map(([version, name]) => samplesOf(BASE_URL, version, name)['TypeScript'] ?? '');
    expect(samples.length).toBeGreaterThanOrEqual(9);
    expect(await checkTypeScript(samples)).toBe('');
  });

  test('in TypeScript fail with the code of an error', async () => {
    await using server = await startHttpServer((_, response) => {
      response.writeHead(409).end('{"code":"order_already_shipped","message":"Too late.","status":409}');
    });
    const sample = samplesOf(`${server.origin}/v1`, 'v1', 'cancelOrder')['TypeScript'] ?? '';
    await expect(runTypeScript(sample)).rejects.toThrow('order_already_shipped: Too late.');
  });
});
