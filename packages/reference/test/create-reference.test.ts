import { gunzipSync } from 'node:zlib';
import { openApiDocument } from '@petstore/api';
import { describe, expect, test } from 'vitest';
import { createReference } from '../src/index.ts';
import { ERROR_PATHS, GUIDE_PATHS, PAGE_PATHS, referenceAt, referencesOf, resolveFrom } from './support/site.ts';

const reference = referenceAt();
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
    expect(resolveFrom(html, `http://localhost/prefix${path}`, '').href).toBe('http://localhost/prefix/');
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
  expect(search).toContain('For support, contact api@shop.example.');
});

test.each(['/docs/nothing', '/docs/nothing/', '/docs/errors/nothing', '/docs/assets/', '/docs/../package.json', '/'])(
  'nothing is at %s',
  async (path) => {
    expect(await reference.respond({ path })).toBeUndefined();
  },
);

describe('what is missing', () => {
  const respond = async (path: string, accept: string) => {
    const { status, headers, body } = (await reference.respond({ path, accept })) ?? {};
    return { status, headers, html: Buffer.from(body ?? []).toString() };
  };

  test('is a page for browsers, and nothing for programs', async () => {
    expect(await respond('/docs/nope', 'text/html,*/*;q=0.8')).toMatchObject({
      status: 404,
      headers: { 'content-type': 'text/html; charset=utf-8', vary: 'accept' },
    });
    for (const accept of ['application/json', '*/*']) {
      expect((await respond('/docs/nope', accept)).status).toBeUndefined();
    }
  });

  test.each(['/docs/nope', '/docs/nope/', '/docs/errors/nope', '/docs/a/b/c/d/e/f', '/docs/%"><script>?#'])(
    'leads on from %s, below any path',
    async (path) => {
      const { html } = await respond(path, 'text/html');
      const address = `http://localhost/prefix${path.split('/').map(encodeURIComponent).join('/')}`;
      const links = referencesOf(html).map((link) => resolveFrom(html, address, link));
      expect(links[0]?.pathname).toMatch(/^\/prefix\/docs\/assets\//);
      for (const { href, pathname } of links) {
        expect(await reference.respond({ path: pathname.replace('/prefix', '') }), href).toBeDefined();
      }
    },
  );

  test('does not repeat the address, which might hold a key', async () => {
    const { status, html } = await respond('/docs/errors/ps_secret', 'text/html');
    expect(status).toBe(404);
    expect(html).not.toContain('ps_secret');
    expect((await respond('/docs/errors/ps_public', 'text/html')).html).toBe(html);
  });
});

describe('for programs that read texts', () => {
  test.each([...GUIDE_PATHS, ...ERROR_PATHS])('%s.md is Markdown, whose links lead to Markdown', async (path) => {
    const answer = await reference.respond({ path: `${path}.md` });
    expect(answer?.headers['content-type']).toBe('text/markdown; charset=utf-8');
    const text = Buffer.from(answer?.body ?? []).toString();
    expect(text).toMatch(/^# /);
    for (const [, link = ''] of text.matchAll(/\]\((?!https:)([^)#]+)/g)) {
      const target = new URL(link, `http://localhost${path}`).pathname;
      expect(await reference.respond({ path: target }), link).toBeDefined();
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
});

describe('an asset', () => {
  test('is there for every reference of a page, and may be kept for ever', async () => {
    const assets = referencesOf(await textOf('/docs')).filter((link) => link.includes('assets/'));
    expect(assets.length).toBeGreaterThan(5);
    for (const path of assets.map((link) => `/${link}`)) {
      const answer = await reference.respond({ path });
      expect(answer?.headers['cache-control'], path).toBe('public, max-age=31536000, immutable');
      expect(answer?.headers['content-type'], path).toMatch(
        /^(?:text\/(?:javascript|css); charset=utf-8|image\/svg\+xml)$/,
      );
    }
  });
});

describe('compression', () => {
  test.each(['gzip, deflate, br, zstd', 'gzip;q=0.1', '*'])(
    'for Accept-Encoding "%s" is gzip',
    async (acceptEncoding) => {
      const plain = await reference.respond({ path: '/docs/errors' });
      const answer = await reference.respond({ path: '/docs/errors', acceptEncoding });
      expect(answer?.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(gunzipSync(answer?.body ?? '').equals(plain?.body ?? Buffer.of())).toBe(true);
    },
  );

  test.each([undefined, '', 'identity', 'zstd', 'br', 'gzip;q=0'])(
    'for Accept-Encoding %j is none',
    async (acceptEncoding) => {
      const answer = await reference.respond({ path: '/docs', acceptEncoding });
      expect(answer?.headers['content-encoding']).toBeUndefined();
      expect(answer?.headers['vary']).toBe('accept-encoding');
    },
  );
});

describe('the list of pages has the sections of the document, with the operations of each', () => {
  /** Sections by their heading: the texts of their links, without marks. */
  const sectionsOf = async (path: string) => {
    const [, navigation = ''] = /<aside>(.*?)<\/aside>/s.exec(await textOf(path)) ?? [];
    return Object.fromEntries(
      Array.from(
        navigation.matchAll(/<li class="section"><h3>(.*?)<\/h3>(.*?)(?:<\/ul>|<\/small>)<\/li>/gs),
        (match) => {
          const [, name = '', content = ''] = match;
          const links = Array.from(content.matchAll(/<a [^>]*>(.*?)<\/a>/gs), ([, link = '']) =>
            link.replaceAll(/<.*?>/g, ''),
          );
          return [name, links];
        },
      ),
    );
  };

  test('Store and Pets hold none, as the specification says', async () => {
    expect(await sectionsOf('/docs')).toEqual({
      orders: ['List all orders GET', 'Cancel an order DELETE'],
      Store: [],
      Pets: [],
      deprecated: ['Find a pet by its identifier GET'],
    });
  });

  test('with its stability, where an operation is not stable', async () => {
    const { orders } = await sectionsOf('/docs/v2');
    expect(orders).toContain('Cancel an order beta DELETE');
    expect(orders).toContain('List orders, page by page experimental GET');
  });
});
