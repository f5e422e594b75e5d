import { posix } from 'node:path';
import type { ApiVersion } from '@petstore/api';
import Negotiator from 'negotiator';
import { loadAssets } from './assets.ts';
import { renderForPrograms, renderLlmsText } from './for-programs.ts';
import { loadErrorPages, loadGuides } from './guides.ts';
import { renderPage } from './layout.ts';
import type { Reference, ReferenceOptions, ReferenceResponse } from './reference.ts';
import { referencePage } from './reference-page.ts';
import { createResource, type Resource } from './resource.ts';
import { searchEntries } from './search-entries.ts';
import { REFERENCE_PATH, readVersions, rootFrom, type Site } from './site.ts';

/**
 * Reads the files of the site. Each page is rendered and compressed at its first request.
 *
 * @throws Error if a file of the installation cannot be read, or a document names no server
 */
export function openSite({ documentOf }: ReferenceOptions): Reference {
  const site = loadSite(documentOf);
  const resources = listResources(site);
  return {
    async respond({ path, accept = '*/*', acceptEncoding = '' }) {
      const negotiator = new Negotiator({ headers: { accept, 'accept-encoding': acceptEncoding } });
      const resource = resources.get(path);
      if (resource !== undefined) {
        // Brotli would make the files 5 % smaller.
        const isCompressed = negotiator.encodings(['gzip', 'identity'])[0] === 'gzip';
        const coding = isCompressed ? { 'content-encoding': 'gzip' } : {};
        const headers = { ...resource.headers, ...coding, vary: 'accept-encoding' };
        return { status: 200, headers, body: isCompressed ? await resource.compressed() : resource.plain() };
      }
      // The redirect is relative: it also works behind a proxy that serves us below another path.
      if (path.endsWith('/') && resources.has(path.slice(0, -1))) {
        const headers = { location: `../${posix.basename(path)}`, 'cache-control': 'no-cache' };
        return { status: 308, headers, body: new Uint8Array() };
      }
      const isPerson = negotiator.mediaTypes(['application/json', 'text/html'])[0] === 'text/html';
      return isPerson ? notFound(path, site) : undefined;
    },
  };
}

/** @throws Error if a text of the site cannot be read, or a document names no server */
function loadSite(documentOf: (version: ApiVersion) => object): Site {
  const versions = readVersions(documentOf);
  const [current] = versions;
  const root = current?.baseUrl.replace(/\/v\d+$/, '') ?? '';
  const guides = loadGuides(root);
  return {
    name: current?.document.info.title ?? '',
    root,
    assets: loadAssets(`${REFERENCE_PATH}/assets`),
    versions,
    references: versions.map((version) => referencePage(version, guides)),
    guides,
    errors: loadErrorPages(root, versions),
  };
}

/** Revalidated at each request, because the content may have changed. */
const headersOf = (type: string) => ({ 'content-type': `text/${type}; charset=utf-8`, 'cache-control': 'no-cache' });

/**
 * For every page: scripts, styles, images and requests of this origin only, and nothing inline. A key that is entered into
 * the console cannot be sent anywhere else.
 */
const PAGE_HEADERS = {
  ...headersOf('html'),
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

/** All that is served, by path. */
function listResources(site: Site): ReadonlyMap<string, Resource> {
  const { assets, references, guides, errors } = site;
  const resources = new Map<string, Resource>();
  const add = (path: string, headers: Resource['headers'], render: () => string) =>
    resources.set(`/${path}`, createResource(headers, render));
  for (const page of [...references, ...guides, ...errors]) add(page.path, PAGE_HEADERS, () => renderPage(page, site));
  for (const page of [...guides, ...errors]) {
    add(`${page.path}.md`, headersOf('markdown'), () => renderForPrograms(page, site));
  }
  add('llms.txt', headersOf('plain'), () => renderLlmsText(site));
  add(`${REFERENCE_PATH}/search-entries.js`, headersOf('javascript'), () => {
    return `export const entries = ${JSON.stringify(searchEntries(site))};\n`;
  });
  for (const { name, contentType, text } of assets.files) {
    const headers = { 'content-type': contentType, 'cache-control': 'public, max-age=31536000, immutable' };
    add(`${assets.path}/${name}`, headers, () => text);
  }
  return resources;
}

const NOT_FOUND = `# Page not found

There is no page at this address. Paths are exact: case and slashes count.

Search, choose a page from the list, or begin at the [reference](${REFERENCE_PATH}).`;

/** The page for a missing path: its links depend on how deep that is, but it does not repeat the path, which might be a key. */
function notFound(path: string, site: Site): ReferenceResponse {
  const page = {
    path: '',
    title: 'Page not found',
    summary: 'There is no page at this address.',
    markdown: NOT_FOUND,
  };
  const html = renderPage(page, site, rootFrom(path.slice(1)));
  return { status: 404, headers: { ...PAGE_HEADERS, vary: 'accept' }, body: Buffer.from(html) };
}
