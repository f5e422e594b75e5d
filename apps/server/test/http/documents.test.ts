import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type DocumentSettings, renderDocument } from '../../src/http/render-document.ts';
import { expectError } from './support/expect-error.ts';
import { useTestApp } from './support/test-app.ts';

const app = await useTestApp();

const get = (path: string, headers: Record<string, string> = {}) => app.fetch(path, { key: null, headers });

describe.each([
  ['/v1/openapi.json', 'application/json'],
  ['/v1/openapi.yaml', 'application/yaml'],
  ['/v2/openapi.json', 'application/json'],
  ['/v2/openapi.yaml', 'application/yaml'],
  ['/docs', 'text/html; charset=utf-8'],
])('%s', (path, contentType) => {
  test('needs no key, and does not count', async () => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(contentType);
    expect((await response.text()).length).toBeGreaterThan(10);
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  test('is not sent again to a client that has it', async () => {
    const etag = (await get(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await get(path, { 'if-none-match': known });
      expect([response.status, await response.text(), response.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    // As `fetch` adds it to every request that has If-None-Match.
    const noCache = { 'cache-control': 'no-cache', pragma: 'no-cache' };
    expect((await get(path, { 'if-none-match': etag, ...noCache })).status).toBe(304);
  });
});

test('each version has a document of its own, whose server is where the document was found', async () => {
  for (const version of ['v1', 'v2']) {
    const document = await (await get(`/${version}/openapi.json`)).json();
    expect(document).toMatchObject({ servers: [{ url: `../${version}`, description: 'This server' }] });
    expect(parse(await (await get(`/${version}/openapi.yaml`)).text())).toEqual(document);
  }
});

test('If-None-Match is read as RFC 9110 says, and ignored if it is malformed', async () => {
  const path = '/v1/openapi.json';
  const etag = (await get(path)).headers.get('etag') ?? '';
  const statusOf = async (ifNoneMatch: string) => (await get(path, { 'if-none-match': ifNoneMatch })).status;
  for (const known of [`"a,b", ${etag}`, `W/"x",${etag} , "y"`, `${etag},`, `, ${etag}`, `${etag}, , "x"`]) {
    expect([known, await statusOf(known)]).toEqual([known, 304]);
  }
  const bare = etag.replaceAll('"', '');
  for (const other of [bare, `"${etag}"`, `${etag} ${etag}`, `${etag}, x`, `w/${etag}`, `*, ${etag}`, '']) {
    expect([other, await statusOf(other)]).toEqual([other, 200]);
  }
});

test('/ redirects to /docs, also below a path of a proxy', async () => {
  const response = await get('/');
  expect([response.status, response.headers.get('location'), await response.text()]).toEqual([302, 'docs', '']);
});

describe('the reference', () => {
  test('has guides, each a page that may load nothing from other origins', async () => {
    for (const path of ['/docs', '/docs/errors', '/docs/errors/order_not_found']) {
      const response = await get(path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; /);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await response.text()).toContain('<!doctype html>');
    }
  });

  test('is sent compressed to clients that accept that', async () => {
    const response = await get('/docs', { 'accept-encoding': 'gzip' });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('vary')).toBe('accept-encoding');
    // The ETag differs by content coding.
    const etag = response.headers.get('etag') ?? '';
    const again = { 'accept-encoding': 'gzip', 'if-none-match': etag };
    const known = await get('/docs', again);
    expect([known.status, known.headers.get('content-type'), known.headers.get('etag')]).toEqual([304, null, etag]);
    expect((await get('/docs', { ...again, 'accept-encoding': 'identity' })).status).toBe(200);
  });

  test('is read by programs as Markdown, or by its list of pages', async () => {
    for (const [path, contentType] of [
      ['/docs/limits.md', 'text/markdown; charset=utf-8'],
      ['/llms.txt', 'text/plain; charset=utf-8'],
    ] as const) {
      const response = await get(path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, contentType]);
    }
    expect(await (await get('/llms.txt')).text()).toContain(`${app.origin}/v1/store/orders`);
  });

  test('has a page for a person at an address that does not exist', async () => {
    const response = await get('/docs/nothing', { accept: 'text/html,*/*;q=0.8' });
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(response.headers.get('vary')).toBe('accept');
    expect(await response.text()).toContain('Page not found');
    expect((await get('/docs/nothing')).headers.get('vary')).toBe('accept');
  });

  test.each(['/docs/nothing', '/docs/../package.json', '/docs/%2e%2e/package.json', '/Docs'])(
    '%s does not exist',
    async (path) => {
      await expectError(await get(path), 'route_not_found');
    },
  );
});

const SETTINGS: DocumentSettings = { petsSunsetAt: new Date('2030-01-02T00:00:00Z') };
const PUBLIC_URL = 'http://127.0.0.1:3000';
const render = (version: 'v1' | 'v2', settings: Partial<DocumentSettings> = {}) =>
  JSON.parse(renderDocument(version, { ...SETTINGS, ...settings }, PUBLIC_URL).json);

describe('the document that is served', () => {
  test('names the address of the server, unless the settings name a public one', () => {
    const urls = (...args: Parameters<typeof render>) =>
      render(...args).servers.map(({ description, url }: Record<string, string>) => `${description}: ${url}`);
    expect(urls('v1')).toEqual(['This server: http://127.0.0.1:3000/v1']);
    const named = {
      publicBaseUrl: 'https://shop.example/api/v1',
      stagingBaseUrl: 'https://staging.shop.example/v1',
    };
    expect(urls('v1', named)).toEqual([
      'Production: https://shop.example/api/v1',
      'Staging: https://staging.shop.example/v1',
    ]);
    expect(urls('v2', named)).toEqual([
      'Production: https://shop.example/api/v2',
      'Staging: https://staging.shop.example/v2',
    ]);
    expect(render('v2', named).externalDocs.url).toBe('https://shop.example/api/docs/v2');
  });

  test('shows the sunset of the settings', () => {
    expect(render('v1').paths['/pets/{petId}'].get).toMatchObject({
      'x-sunset': '2030-01-02',
    });
    expect(render('v1').components.headers).toMatchObject({
      Sunset: { example: 'Wed, 02 Jan 2030 00:00:00 GMT' },
      OptionalSunset: { example: 'Wed, 02 Jan 2030 00:00:00 GMT' },
    });
    expect(JSON.stringify(render('v1'))).not.toContain('2027');
  });

  test('says where help is, and whether the service works, where the settings do', () => {
    const { info } = render('v1');
    expect(info.contact).toEqual({ name: 'The maintainers of Petstore Orders' });
    for (const version of ['v1', 'v2'] as const) {
      const statusPageUrl = 'https://status.shop.example/';
      const byMail = render(version, { supportContact: 'mailto:api@shop.example', statusPageUrl }).info;
      expect(byMail.contact).toEqual({ name: 'Support', email: 'api@shop.example' });
      expect(byMail.description).toMatch(
        /\n\nFor support, contact \[api@shop.example\]\(<mailto:api@shop.example>\)\. Service status: <https:\/\/status.shop.example\/>\.$/,
      );
      const supportContact = 'https://shop.example/support';
      const { contact, description } = render(version, { supportContact }).info;
      expect(contact).toEqual({ name: 'Support', url: supportContact });
      expect(description).toMatch(/\n\nFor support, contact <https:\/\/shop.example\/support>\.$/);
    }
  });
});
