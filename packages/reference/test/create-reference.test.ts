import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createReference } from '../src/index.ts';
import { PAGE_PATHS, referencesOf } from './support/pages.ts';

const reference = createReference();
const textOf = async (path: string) => Buffer.from((await reference.respond({ path }))?.body ?? []).toString();

describe('a page', () => {
  test.each(PAGE_PATHS)('%s is HTML under a policy that names this origin alone', async (path) => {
    const answer = await reference.respond({ path });
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'; "),
      },
    });
    expect(answer?.headers['content-security-policy']).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
  });

  test('with text alone may not even have a style of its own, nor talk to anybody', async () => {
    const answer = await reference.respond({ path: '/docs/errors' });
    expect(answer?.headers['content-security-policy']).not.toMatch(/unsafe|connect-src|data:/);
  });

  test.each(PAGE_PATHS)(
    '%s refers to other files by relative links, so that it may be served below any path',
    async (path) => {
      const html = await textOf(path);
      const absolute = referencesOf(html).filter((link) => /^(?:\/|https?:)/.test(link));
      expect(absolute.filter((link) => !link.startsWith('https://datatracker.ietf.org/'))).toEqual([]);
    },
  );

  test.each([
    ['/docs', 'The orders of a pet store: list them all, and cancel one.'],
    [
      '/docs/v2',
      'A preview of what comes after v1: the list of orders by pages, with filters, and single orders with their status.',
    ],
  ])('%s is described in one plain sentence', async (path, sentence) => {
    expect(await textOf(path)).toContain(`<meta name="description" content="${sentence}">`);
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

test.each(['/docs/nothing', '/docs/nothing/', '/docs/errors/nothing', '/docs/assets/', '/docs/../package.json', '/'])(
  'nothing is at %s',
  async (path) => {
    expect(await reference.respond({ path })).toBeUndefined();
  },
);

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
    expect(answer?.headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' });
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
