import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { openApiDocument } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { createReference } from '../src/index.ts';
import { ERROR_PATHS, GUIDE_PATHS, PAGE_PATHS, referencesOf } from './support/pages.ts';

const reference = createReference();
const textOf = async (path: string) => Buffer.from((await reference.respond({ path }))?.body ?? []).toString();

describe('a page', () => {
  test.each(PAGE_PATHS)('%s is HTML that loads from here alone, and may be served below any path', async (path) => {
    const answer = await reference.respond({ path });
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'; "),
      },
    });
    expect(answer?.headers['content-security-policy']).not.toMatch(/https?:|\*|unsafe|data:/);
    const html = Buffer.from(answer?.body ?? []).toString();
    expect(html).not.toMatch(/<style|<script>| style="| on\w+="/);
    const absolute = referencesOf(html).filter((link) => /^(?:\/|https?:)/.test(link));
    expect(absolute.filter((link) => !/^https:\/\/(?:datatracker\.ietf\.org|github\.com)\//.test(link))).toEqual([]);
  });

  test('with a slash too many leads to the page', async () => {
    expect(await reference.respond({ path: '/docs/' })).toMatchObject({
      status: 308,
      headers: { location: '../docs' },
    });
    expect(await reference.respond({ path: '/docs/errors/overloaded/' })).toMatchObject({
      status: 308,
      headers: { location: '../overloaded' },
    });
  });
});

test('each reference shows where callers of the installation find help, and whether it works', async () => {
  const installed = createReference({
    documentOf: (version) =>
      openApiDocument({
        version,
        servers: [{ url: `https://shop.example/${version}` }],
        supportContact: 'mailto:api@shop.example?subject=Orders',
        statusPageUrl: 'https://status.shop.example/',
      }),
  });
  for (const path of ['/docs', '/docs/v2']) {
    const html = Buffer.from((await installed.respond({ path }))?.body ?? []).toString();
    expect(html).toContain('<a href="mailto:api@shop.example?subject=Orders">api@shop.example</a>');
    expect(html).toContain('<a href="https://status.shop.example/">');
  }
  const search = Buffer.from((await installed.respond({ path: '/docs/search-entries.js' }))?.body ?? []).toString();
  expect(search).toContain('For help, turn to api@shop.example.');
});

test.each(['/docs/nothing', '/docs/nothing/', '/docs/errors/nothing', '/docs/assets/', '/docs/../package.json', '/'])(
  'nothing is at %s',
  async (path) => {
    expect(await reference.respond({ path })).toBeUndefined();
  },
);

describe('what a page is sent as follows Accept', () => {
  const typeFor = async (path: string, accept: string) => {
    const { status, headers } = (await reference.respond({ path, accept })) ?? {};
    return [status, headers?.['content-type'], headers?.['vary']];
  };

  test.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['*/*', 'text/html'],
    ['text/markdown, text/html;q=0.5', 'text/markdown'],
  ])('a guide for %s is %s', async (accept, type) => {
    expect(await typeFor('/docs/limits', accept)).toEqual([200, `${type}; charset=utf-8`, 'accept, accept-encoding']);
  });

  test('what is missing is a page for browsers, and nothing for programs', async () => {
    const html = [404, 'text/html; charset=utf-8', 'accept, accept-encoding'];
    expect(await typeFor('/docs/nope', 'text/html,*/*;q=0.8')).toEqual(html);
    expect(await typeFor('/docs/nope', 'application/json')).toEqual([undefined, undefined, undefined]);
    expect(await typeFor('/docs/nope', '*/*')).toEqual([undefined, undefined, undefined]);
  });
});

describe('for programs that read texts', () => {
  test.each([...GUIDE_PATHS, ...ERROR_PATHS])('%s.md is Markdown, whose links lead to Markdown', async (path) => {
    const answer = await reference.respond({ path: `${path}.md` });
    expect(answer?.headers['content-type']).toBe('text/markdown; charset=utf-8');
    const text = Buffer.from(answer?.body ?? []).toString();
    expect(text).toMatch(/^# /);
    for (const [, link = ''] of text.matchAll(/\]\(([^)#]+\.md)/g)) {
      const target = new URL(link, `http://localhost${path}`).pathname;
      if (!target.startsWith('/packages/')) expect(await reference.respond({ path: target }), link).toBeDefined();
    }
  });

  test('/llms.txt names every operation and page, by addresses that exist', async () => {
    const text = await textOf('/llms.txt');
    expect(text).toContain('`DELETE http://127.0.0.1:3000/v1/store/orders/{orderId}`: Cancel an order');
    const links = Array.from(text.matchAll(/\]\(http:\/\/127\.0\.0\.1:3000([^)]+)\)/g), ([, path = '']) => path);
    expect(links).toEqual(expect.arrayContaining([...GUIDE_PATHS, ...ERROR_PATHS].map((path) => `${path}.md`)));
    for (const path of links.filter((link) => link.startsWith('/docs'))) {
      expect(await reference.respond({ path }), path).toBeDefined();
    }
  });

  test('the entries of search are texts, without tags and entities', async () => {
    const text = await textOf('/docs/search-entries.js');
    expect(text).toContain("from 'openapi-fetch'"); // an apostrophe that highlight.js has written as an entity
    expect(text.match(/&(?:#|amp|lt|gt|quot)/g)).toBeNull();
  });

  test('/robots.txt lets them read the documentation, and nothing that needs a key', async () => {
    const text = await textOf('/robots.txt');
    expect(text).toMatch(/^Allow: \/docs$.*^Disallow: \/v1\/$/ms);
    for (const version of ['v1', 'v2']) expect(text).toContain(`\nAllow: /${version}/openapi.\n`);
  });
});

describe('an asset', () => {
  const assetsOf = async (path: string) =>
    referencesOf(await textOf(path))
      .filter((link) => link.includes('assets/'))
      .map((link) => new URL(link, `http://localhost${path}`).pathname);

  test('is there for every reference of a page, and may be kept for ever', async () => {
    const paths = [...(await assetsOf('/docs')), ...(await assetsOf('/docs/errors/overloaded'))];
    expect(paths.length).toBeGreaterThan(6);
    for (const path of paths) {
      const answer = await reference.respond({ path });
      expect(answer?.headers['cache-control'], path).toBe('public, max-age=31536000, immutable');
      expect(answer?.headers['content-type'], path).toMatch(
        /^(?:text\/(?:javascript|css); charset=utf-8|image\/svg\+xml)$/,
      );
    }
  });
});

describe('compression', () => {
  test.each([
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.1', 'gzip', gunzipSync],
  ])('for Accept-Encoding "%s" is %s', async (acceptEncoding, encoding, decompress) => {
    const plain = await reference.respond({ path: '/docs/errors' });
    const answer = await reference.respond({ path: '/docs/errors', acceptEncoding });
    expect(answer?.headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept, accept-encoding' });
    expect(decompress(answer?.body ?? '').equals(plain?.body ?? Buffer.of())).toBe(true);
  });

  test.each([undefined, '', 'identity', 'zstd', 'br;q=0, gzip;q=0'])(
    'for Accept-Encoding %j is none',
    async (acceptEncoding) => {
      const answer = await reference.respond({ path: '/docs', acceptEncoding });
      expect(answer?.headers['content-encoding']).toBeUndefined();
      expect(answer?.headers['vary']).toBe('accept-encoding');
    },
  );
});
