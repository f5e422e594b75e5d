import { openApiDocument } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import type { OpenApiDocument, Operation } from '../src/browser/open-api.d.ts';
import { prepareDocument } from '../src/browser/prepare-document.js';
import { checkTypeScript, runTypeScript } from './support/run-typescript.ts';
import { startServer } from './support/site-server.ts';

const SITE = {
  documentUrl: 'v1/openapi.json',
  errorsUrl: 'docs/errors',
  guides: [{ title: 'Keys over REST', summary: 'How to get one.', href: 'docs/keys' }],
};
const SERVERS = [
  { url: 'https://petstore.example.com/v1', description: 'Production' },
  { url: 'https://staging.example.com/v1', description: 'Staging' },
];

function prepare(baseUrl = 'https://petstore.example.com/v1', version: 'v1' | 'v2' = 'v1'): OpenApiDocument {
  // The page's type describes a part of the document.
  const document = openApiDocument({ version, servers: SERVERS }) as unknown as OpenApiDocument;
  return prepareDocument(document, { ...SITE, baseUrl });
}

const operationsOf = ({ paths = {} }: OpenApiDocument): [string, Operation][] =>
  Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId ?? '', operation]);

const sampleOf = (document: OpenApiDocument, operationId: string, label: string): string =>
  new Map(operationsOf(document)).get(operationId)?.['x-codeSamples']?.find((sample) => sample.label === label)
    ?.source ?? '';

test('requests go to the server of the page, and nowhere else', () => {
  expect(prepare('http://localhost:3000/v1').servers).toEqual([{ url: 'http://localhost:3000/v1' }]);
});

test('other servers of the API are named in the text', () => {
  expect(prepare().info.description).toContain('Staging: `https://staging.example.com/v1`');
  expect(prepare().info.description).not.toContain('Production');
  expect(prepare('http://localhost:3000/v1').info.description).toContain(
    'Production: `https://petstore.example.com/v1`',
  );
});

test('the guides are headings of the introduction', () => {
  expect(prepare().info.description).toContain(
    '## Keys over REST\n\nHow to get one. [More on keys over REST](docs/keys)',
  );
});

test('responses link to the pages of their error codes', () => {
  const { cancelOrder } = Object.fromEntries(operationsOf(prepare()));
  expect(cancelOrder?.responses?.['409']?.description).toContain(
    '[`order_already_shipped`](docs/errors/order_already_shipped)',
  );
  expect(cancelOrder?.responses?.['204']?.description).not.toContain('docs/errors');
});

test('the stability of an operation is shown once, with its sunset', () => {
  const [[, page] = []] = operationsOf(prepare('https://petstore.example.com/v2', 'v2'));
  expect(page).toMatchObject({ 'x-scalar-stability': 'experimental', 'x-badges': [] });
  const { getPetById } = Object.fromEntries(operationsOf(prepare()));
  expect(getPetById).toMatchObject({ 'x-scalar-stability': 'deprecated', 'x-badges': [{ name: 'Sunset 2027-06-30' }] });
});

test('the page says where an entered key is kept', () => {
  expect(prepare().components?.securitySchemes?.['bearerAuth']?.description).toContain(
    "Kept in this page's memory only.",
  );
});

test('a deprecated operation links to the guide on the same server', () => {
  const { getPetById } = Object.fromEntries(operationsOf(prepare()));
  expect(getPetById?.externalDocs?.url).toBe('docs/versions#what-is-deprecated-now');
});

test('the document itself is not changed', () => {
  const document = openApiDocument({ servers: SERVERS }) as unknown as OpenApiDocument; // as above
  const before = structuredClone(document);
  prepareDocument(document, { ...SITE, baseUrl: 'http://localhost:3000/v1' });
  expect(document).toEqual(before);
});

describe('code samples', () => {
  test.each(operationsOf(prepare()))(
    'of %s are in four languages, for this server, without a key in them',
    (_, operation) => {
      const samples = operation['x-codeSamples'] ?? [];
      expect(samples.map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'Python', 'Go']);
      for (const { source } of samples) {
        expect(source).toMatch(/https:\/\/petstore\.example\.com\/v1\/(?:store|pets)/);
        expect(source).toContain('PETSTORE_API_KEY');
        expect(source).not.toMatch(/[{]\w+Id[}]/);
      }
    },
  );

  test('of v2 show a filter and a page size', () => {
    const document = prepare('https://petstore.example.com/v2', 'v2');
    for (const label of ['curl', 'TypeScript', 'Python', 'Go']) {
      expect(sampleOf(document, 'listOrdersPage', label)).toContain(
        'https://petstore.example.com/v2/store/orders?status=pending&status=shipped&limit=100',
      );
    }
  });

  test('read exactly so', () => {
    expect(sampleOf(prepare(), 'cancelOrder', 'curl')).toMatchInlineSnapshot(`
      "curl --include --request DELETE \\
        'https://petstore.example.com/v1/store/orders/1' \\
        --header "Authorization: Bearer $PETSTORE_API_KEY""
    `);
    expect(sampleOf(prepare(), 'listOrders', 'Python')).toMatchInlineSnapshot(`
      "import os

      import requests

      response = requests.get(
          "https://petstore.example.com/v1/store/orders",
          headers={"Authorization": f"Bearer {os.environ['PETSTORE_API_KEY']}"},
          timeout=30,
      )
      if not response.ok:
          error = response.json()
          raise RuntimeError(f"{error['code']}: {error['message']}")
      print(response.json())"
    `);
    expect(sampleOf(prepare(), 'cancelOrder', 'Go')).toMatchInlineSnapshot(`
      "package main

      import (
      	"fmt"
      	"io"
      	"log"
      	"net/http"
      	"os"
      )

      func main() {
      	request, err := http.NewRequest("DELETE", "https://petstore.example.com/v1/store/orders/1", nil)
      	if err != nil {
      		log.Fatal(err)
      	}
      	request.Header.Set("Authorization", "Bearer "+os.Getenv("PETSTORE_API_KEY"))

      	response, err := http.DefaultClient.Do(request)
      	if err != nil {
      		log.Fatal(err)
      	}
      	defer response.Body.Close()

      	body, err := io.ReadAll(response.Body)
      	if err != nil {
      		log.Fatal(err)
      	}
      	fmt.Println(response.Status)
      	fmt.Println(string(body))
      }"
    `);
  });

  test('in TypeScript run, and print the response', async () => {
    const authorizations: unknown[] = [];
    await using server = await startServer((request, response) => {
      authorizations.push(request.headers.authorization);
      if (request.method === 'DELETE') response.writeHead(204).end();
      else response.end('[{"id":9223372036854775807,"petId":1,"quantity":2}]');
    });
    const document = prepare(`${server.origin}/v1`);
    const run = (operationId: string) =>
      runTypeScript(sampleOf(document, operationId, 'TypeScript'), { PETSTORE_API_KEY: 'secret' });
    expect(await run('listOrders')).toBe('[ { id: 9223372036854775807n, petId: 1n, quantity: 2 } ]\n');
    expect(await run('cancelOrder')).toBe('204\n');
    expect(authorizations).toEqual(['Bearer secret', 'Bearer secret']);
  });

  test('in TypeScript compile under strict rules', async () => {
    const samples = [prepare(), prepare('https://petstore.example.com/v2', 'v2')].flatMap((document) =>
      operationsOf(document).map(([operationId]) => sampleOf(document, operationId, 'TypeScript')),
    );
    expect(samples).toHaveLength(6);
    expect(await checkTypeScript(samples)).toBe('');
  });

  test('in TypeScript fail with the code of an error', async () => {
    await using server = await startServer((_, response) => {
      response.writeHead(409).end('{"code":"order_already_shipped","message":"Too late.","status":409}');
    });
    const sample = sampleOf(prepare(`${server.origin}/v1`), 'cancelOrder', 'TypeScript');
    await expect(runTypeScript(sample)).rejects.toThrow('order_already_shipped: Too late.');
  });
});
