import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CATALOGUE, openApiDocument, procedureContracts, restRoutes } from '@petstore/api';
import { startHttpServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { renderMarkdown } from '../src/markdown.ts';
import { errorCodesOf } from '../src/open-api.ts';
import { runTypeScript } from './support/run-typescript.ts';
import { ERROR_CODES, PAGE_PATHS, referenceAt, referencesOf, resolveFrom } from './support/site.ts';

const DOCS = join(import.meta.dirname, '../../../docs');
const readGuide = (source: string) => readFileSync(join(DOCS, source), 'utf8');

/** The items of a list in a document: the groups of each match. @param place whose group has the list */
function namesIn(source: string, item: RegExp, place = /(.*)/s): string[] {
  const [, list = ''] = place.exec(readGuide(source)) ?? [];
  return Array.from(list.matchAll(item), ([, ...groups]) => groups.join(' '));
}

const SECTION = /^## `(\w+)`$/gm;
const LISTED_CODE = /^\| \d{3} \| \[`(\w+)`\]/gm;

const reference = referenceAt();
const pages = new Map<string, string>();
for (const path of PAGE_PATHS) {
  pages.set(path, Buffer.from((await reference.respond({ path }))?.body ?? []).toString());
}

describe('error codes', () => {
  test('have sections in the order of their list', () => {
    expect(namesIn('errors.md', SECTION)).toEqual(namesIn('errors.md', LISTED_CODE));
  });

  test.each(Object.entries(ERROR_CATALOGUE))(
    '%s has a page with its status, its tRPC code and advice',
    (code, entry) => {
      const html = pages.get(`/docs/errors/${code}`);
      expect(html).toContain(`<h1><code>${code}</code></h1>`);
      expect(html).toContain(`<code>${entry.status}</code>`);
      expect(html).toContain(`<code>${entry.trpcCode}</code>`);
      expect(html).toMatch(/What happened.*<\/h2>\s*<p>.{30,}/);
      expect(html).toMatch(/What to do.*<\/h2>\s*<p>.{10,}/);
    },
  );

  test('are no names that every object has', () => {
    expect(renderMarkdown({ path: 'docs/x', title: '', summary: '', markdown: '`constructor`' }).html).toBe(
      '<p><code>constructor</code></p>\n',
    );
    expect(errorCodesOf({ description: '', content: { json: { examples: { toString: { value: '' } } } } })).toEqual([]);
  });

  test('of tRPC only show no REST response', () => {
    expect(pages.get('/docs/errors/order_not_shipped')).toContain('tRPC only');
    expect(pages.get('/docs/errors/order_not_shipped')).not.toContain('&quot;status&quot;');
    expect(pages.get('/docs/errors/order_not_found')).toContain('&quot;status&quot;');
  });

  test('link to the operations that respond with them', () => {
    expect(pages.get('/docs/errors/order_already_shipped')).toContain(
      '<td>v1: <a href="docs#cancelOrder">Cancel an order</a><br>v2: <a href="docs/v2#cancelOrder">Cancel an order</a></td>',
    );
  });

  test('link from the guide to their pages', () => {
    for (const code of ERROR_CODES) {
      expect(pages.get('/docs/errors')).toContain(`<td><a href="docs/errors/${code}"><code>${code}</code></a></td>`);
    }
  });
});

describe('links', () => {
  const isDocument = (path: string) => /^\/v[12]\/openapi\.(?:json|yaml)$/.test(path);

  test.each(PAGE_PATHS)('of %s lead to something', async (path) => {
    const html = pages.get(path) ?? '';
    const internal = referencesOf(html).filter((link) => !/^https:/.test(link));
    expect(internal.length).toBeGreaterThan(10);
    for (const link of internal) {
      const { pathname, hash } = resolveFrom(html, `http://localhost${path}`, link);
      if (isDocument(pathname)) continue;
      expect(await reference.respond({ path: pathname }), link).toMatchObject({ status: 200 });
      if (hash !== '') expect(pages.get(pathname), link).toContain(`id="${hash.slice(1)}"`);
    }
  });
});

describe('the guide to limits', () => {
  const markdown = readGuide('guides/limits.md');
  const [, code = ''] = /```ts\n(.*?)```/s.exec(markdown) ?? [];

  test('backs off in code that works: for Retry-After, else longer each time', async () => {
    const timesMs: number[] = [];
    await using server = await startHttpServer((_, response) => {
      timesMs.push(performance.now());
      if (timesMs.length === 1) response.writeHead(429, { 'retry-after': '1' }).end();
      else if (timesMs.length === 2) response.destroy();
      else response.end('done');
    });
    const output = await runTypeScript(`${code}\nconsole.log(await (await send('${server.origin}')).text());`);
    expect(output).toBe('done\n');
    const [first = 0, second = 0, third = 0] = timesMs;
    expect(second - first).toBeGreaterThanOrEqual(990); // Retry-After
    expect(third - second).toBeGreaterThanOrEqual(490); // half of the second pause, at least
  });

  test('gives up after three retries, and returns the last response', async () => {
    let calls = 0;
    await using server = await startHttpServer((_, response) => {
      calls += 1;
      response.writeHead(503).end();
    });
    const quick = code.replace('backoffSeconds = 0.5', 'backoffSeconds = 0.001');
    expect(quick).not.toBe(code);
    expect(await runTypeScript(`${quick}\nconsole.log((await send('${server.origin}')).status);`)).toBe('503\n');
    expect(calls).toBe(4);
  });
});

const documentOf = (version: 'v1' | 'v2') => openApiDocument({ version, servers: [] });

test('the changelog names each document that was released, and those of today', () => {
  const files = readdirSync(join(DOCS, '../packages/api/released')).filter((file) => file.endsWith('.json'));
  const released = files.map((file) => file.replace(/^openapi-|\.json$/g, ''));
  const current = (['v1', 'v2'] as const).map((version) => documentOf(version).info.version);
  const named = readGuide('guides/changelog.md').match(/\b\d+\.\d+\.\d+(-[\w.]*\w)?/g);
  expect(named).toEqual(expect.arrayContaining([...released, ...current]));
});

const ofV2 = restRoutes.filter(({ apiVersion }) => apiVersion === 'v2');
const UNSTABLE = restRoutes.flatMap(({ procedure, apiVersion, method, path }) => {
  const contract = procedureContracts.get(procedure);
  const stability = contract?.openapi && contract.versions[apiVersion];
  return stability === 'stable' ? [] : [`${method} /${apiVersion}${path} ${stability}`];
});
const resourcesOf = (version: string) =>
  restRoutes
    .filter(({ apiVersion }) => apiVersion === version)
    .map(({ procedure }) => procedure.replace(/^v2\.|\..*/g, '').replace(/^./, (letter) => letter.toUpperCase()));
const V2_RESOURCES = resourcesOf('v2');
const ONLY_IN_V1 = new Set(resourcesOf('v1').filter((name) => !V2_RESOURCES.includes(name)));
const fieldsOf = (version: 'v1' | 'v2', schema: string): string[] => {
  const { schemas = {} } = documentOf(version).components ?? {};
  return Object.keys((schemas[schema] as { readonly properties: object }).properties); // written out
};
const V1_FIELDS = fieldsOf('v1', 'Order');
const { parameters = [] } = documentOf('v2').paths?.['/store/orders']?.get ?? {};

const VERSIONS = 'guides/versions.md';
const PREVIEW = 'guides/v2-preview.md';
const V2_PROCEDURES = ofV2.map(({ procedure }) => procedure);
const V2_OPERATIONS = ofV2.map(({ method, path }) => `${method} /v2${path}`);
const V2_FIELDS = fieldsOf('v2', 'OrderV2').filter((name) => !V1_FIELDS.includes(name));
const PARAMETERS = parameters.map((parameter) => ('name' in parameter ? parameter.name : ''));

/** A document; all that it names, and the pattern of each; where it does, if that pattern does not tell. */
test.each<[document: string, actual: readonly string[], item: RegExp, place?: RegExp]>([
  ['errors.md', ERROR_CODES, SECTION],
  [VERSIONS, UNSTABLE, /^\| `([A-Z]+ [^`]*)` \| (beta|experimental) \|$/gm],
  [VERSIONS, V2_PROCEDURES, /`([\w.]+)`/g, /^Over tRPC these are (.+)$/m],
  [VERSIONS, [...ONLY_IN_V1], /^\| (\w+) \| .+ \| None\. \|$/gm],
  [VERSIONS, V1_FIELDS, /`(\w+)`/g, /^\| An order \| (.+) \| .+ \|$/m],
  [VERSIONS, V2_FIELDS, /`(\w+)`/g, /^\| An order \| .+ \| (.+) \|$/m],
  [PREVIEW, V2_OPERATIONS, /^(\w+) +(\S+)$/gm, /```http\n([^`]+)```/],
  [PREVIEW, PARAMETERS, /^\| `(\w+)` \|/gm],
])('%s names %j, and no other', (document, actual, item, place) => {
  expect(actual).not.toEqual([]);
  expect(namesIn(document, item, place).toSorted()).toEqual(actual.toSorted());
});

test('the guide to the preview of v2 links to its reference', () => {
  expect(pages.get('/docs/v2-preview')).toContain('<li><a href="docs/v2">v2</a></li>');
});
