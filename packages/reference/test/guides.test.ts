import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CATALOGUE, openApiDocument, procedureContracts, restRoutes } from '@petstore/api';
import { ADDRESS_REQUESTS_PER_MINUTE, PLANS } from '@petstore/domain';
import { startHttpServer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { renderMarkdown } from '../src/markdown.ts';
import { errorCodesOf } from '../src/open-api.ts';
import { runTypeScript } from './support/run-typescript.ts';
import { ERROR_CODES, PAGE_PATHS, referenceAt, referencesOf, resolveFrom } from './support/site.ts';

const DOCS = join(import.meta.dirname, '../../../docs');
const readGuide = (source: string) => readFileSync(join(DOCS, source), 'utf8');

const reference = referenceAt();
const pages = new Map<string, string>();
for (const path of PAGE_PATHS) {
  pages.set(path, Buffer.from((await reference.respond({ path }))?.body ?? []).toString());
}

describe('error codes', () => {
  test('have a section each, in the order of the list, and no section is without a code', () => {
    const sections = Array.from(readGuide('errors.md').matchAll(/^## `(\w+)`$/gm), ([, code]) => code);
    const listed = Array.from(readGuide('errors.md').matchAll(/^\| \d{3} \| \[`(\w+)`\]/gm), ([, code]) => code);
    expect(sections).toEqual(listed);
    expect(sections.toSorted()).toEqual([...ERROR_CODES].toSorted());
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

  test('states all that depends on the plan', () => {
    const rows = Object.values(PLANS).map(({ label, limits, longListsMax, purpose }) => {
      const [perMinute, perDay] =
        typeof limits === 'string' ? ['by agreement', 'by agreement'] : [limits.perMinute, limits.perDay];
      return `| ${label} | ${perMinute.toLocaleString('en')} | ${perDay.toLocaleString('en')} | ${longListsMax} | ${purpose} |\n`;
    });
    expect(markdown).toContain(`| --- | --- | --- | --- | --- |\n${rows.join('')}\n`);
    expect(markdown).toContain(`client's address, ${ADDRESS_REQUESTS_PER_MINUTE} a minute`);
  });

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

test('the changelog names each document that was released, and those of today', () => {
  const files = readdirSync(join(DOCS, '../packages/api/released')).filter((file) => file.endsWith('.json'));
  const released = files.map((file) => file.replace(/^openapi-|\.json$/g, ''));
  const current = (['v1', 'v2'] as const).map((version) => openApiDocument({ version, servers: [] }).info.version);
  const named = readGuide('guides/changelog.md').match(/\b\d+\.\d+\.\d+(-[\w.]*\w)?/g);
  expect(named).toEqual(expect.arrayContaining([...released, ...current]));
});

test('the guide to versions names each operation that is not stable, and no other, with its stability', () => {
  const unstable = restRoutes.flatMap(({ procedure, apiVersion, method, path }) => {
    const contract = procedureContracts.get(procedure);
    const stability = contract?.openapi && contract.versions[apiVersion];
    return stability === 'stable' ? [] : [`\`${method} /${apiVersion}${path}\` | ${stability}`];
  });
  const named = Array.from(
    readGuide('guides/versions.md').matchAll(/^\| (`[A-Z]+ [^`]*` \| (?:beta|experimental)) \|$/gm),
    ([, row]) => row,
  );
  expect(named.toSorted()).toEqual(unstable.toSorted());
  expect(unstable).not.toEqual([]);
});

test('the guide to versions names the procedure of each operation of v2, and no other', () => {
  const [, sentence = ''] = /^Over tRPC these are (.+)$/m.exec(readGuide('guides/versions.md')) ?? [];
  const named = Array.from(sentence.matchAll(/`([\w.]+)`/g), ([, name]) => name);
  const procedures = restRoutes.filter(({ apiVersion }) => apiVersion === 'v2').map(({ procedure }) => procedure);
  expect(named.toSorted()).toEqual(procedures.toSorted());
});

test('the guide to versions says which operations v2 has none for', () => {
  const resourcesOf = (version: string) =>
    new Set(
      restRoutes
        .filter(({ apiVersion }) => apiVersion === version)
        .map(({ procedure }) => procedure.replace(/^v2\.|\..*/g, '')),
    );
  const without = [...resourcesOf('v1')].filter((name) => !resourcesOf('v2').has(name));
  const named = Array.from(readGuide('guides/versions.md').matchAll(/^\| (\w+) \| .+ \| None\. \|$/gm), ([, name]) =>
    name?.toLowerCase(),
  );
  expect(named).toEqual(without);
});

test('the guide to versions names every field of an order, of v1 and of v2', () => {
  const fieldsOf = (version: 'v1' | 'v2', schema: string) => {
    const { schemas = {} } = openApiDocument({ version, servers: [] }).components ?? {};
    return Object.keys((schemas[schema] as { readonly properties: object }).properties); // written out
  };
  const v1 = fieldsOf('v1', 'Order');
  const [, ...named] = /^\| An order \| (.+) \| (.+) \|$/m.exec(readGuide('guides/versions.md')) ?? [];
  const [ofV1, ofV2] = named.map((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, name]) => name));
  expect(ofV1?.toSorted()).toEqual(v1.toSorted());
  expect(ofV2?.toSorted()).toEqual(
    fieldsOf('v2', 'OrderV2')
      .filter((name) => !v1.includes(name))
      .toSorted(),
  );
});

describe('the guide to the preview of v2', () => {
  const markdown = readGuide('guides/v2-preview.md');

  test('begins with every operation, and no other', () => {
    const [, listed = ''] = /```http\n([^`]+)```/.exec(markdown) ?? [];
    const operations = restRoutes
      .filter(({ apiVersion }) => apiVersion === 'v2')
      .map(({ method, path }) => `${method} /v2${path}`);
    expect(listed.trim().replaceAll(/ +/g, ' ').split('\n').toSorted()).toEqual(operations.toSorted());
  });

  test('names every parameter of the list of orders, and no other', () => {
    const { paths = {} } = openApiDocument({ version: 'v2', servers: [] });
    const parameters = (paths['/store/orders']?.get?.parameters ?? []) as readonly { readonly name: string }[];
    const named = Array.from(markdown.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name);
    expect(named.sort()).toEqual(parameters.map(({ name }) => name).sort());
  });

  test('links to the reference of v2', () => {
    expect(pages.get('/docs/v2-preview')).toContain('<li><a href="docs/v2">v2</a></li>');
  });
});
