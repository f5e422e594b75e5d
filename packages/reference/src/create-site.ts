import type { ApiVersion } from '@petstore/api';
import { loadAssets } from './assets.ts';
import { loadErrorPages, loadGuides, PATHS_BY_SOURCE } from './guides.ts';
import { renderPage } from './layout.ts';
import { markdownOf } from './markdown.ts';
import { referencePage } from './reference-page.ts';
import { createResource, type Resource } from './resource.ts';
import { searchEntries } from './search-entries.ts';
import { type Page, REFERENCE_PATH, readVersions, SEARCH_ENTRIES_PATH, type Site } from './site.ts';
import { renderLlmsText, renderRobotsText } from './texts.ts';

/** The resources of the site. Each is rendered when it is first requested. */
export interface SiteResources {
  /** By path. The Markdown of a page has the page's path with `.md`. */
  readonly pages: ReadonlyMap<string, Resource>;
  /** The page for a missing path, by the number of segments of that path, from 2. */
  readonly notFound: readonly Resource[];
}

/**
 * For every page: scripts, styles, images and requests of this origin only, and nothing inline. A key that is entered into
 * the console cannot be sent anywhere else.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Revalidated at each request, because its content may have changed. */
const text = (type: string, render: () => string): Resource =>
  createResource({ 'content-type': `text/${type}; charset=utf-8`, 'cache-control': 'no-cache' }, render);

/** Nobody mistypes a deeper path. */
const NOT_FOUND_DEPTHS = [2, 3, 4, 5];

const NOT_FOUND = `# Page not found

There is no page at this address. Paths are exact: case and slashes count.

Search, choose a page from the list, or begin at the [reference](${REFERENCE_PATH}).`;

/** @throws Error if a text of the site cannot be read, or a document names no server */
export function createSite(documentOf: (version: ApiVersion) => object): SiteResources {
  const versions = readVersions(documentOf);
  const [current] = versions;
  const root = current?.baseUrl.replace(/\/v\d+$/, '') ?? '';
  const guides = loadGuides(root);
  const site: Site = {
    name: current?.document.info.title ?? '',
    root,
    assets: loadAssets(`${REFERENCE_PATH}/assets`),
    versions,
    references: versions.map((version) => referencePage(version, guides)),
    guides,
    errors: loadErrorPages(root, versions),
    pathsBySource: PATHS_BY_SOURCE,
  };
  const renderHtml = (page: Page) => {
    const headers = {
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'same-origin',
    };
    return createResource({ ...headers, 'content-type': 'text/html; charset=utf-8' }, () => renderPage(page, site));
  };
  const pages = new Map([
    [SEARCH_ENTRIES_PATH, text('javascript', () => `export const entries = ${JSON.stringify(searchEntries(site))};\n`)],
    ['/llms.txt', text('plain', () => renderLlmsText(site))],
    ['/robots.txt', text('plain', () => renderRobotsText(site))],
  ]);
  for (const { name, contentType, text } of site.assets.files) {
    const headers = { 'content-type': contentType, 'cache-control': 'public, max-age=31536000, immutable' };
    pages.set(
      `${site.assets.path}/${name}`,
      createResource(headers, () => text),
    );
  }
  for (const page of [...site.references, ...site.guides, ...site.errors]) pages.set(page.path, renderHtml(page));
  for (const page of [...site.guides, ...site.errors]) {
    pages.set(
      `${page.path}.md`,
      text('markdown', () => markdownOf(page, site)),
    );
  }
  const notFound = NOT_FOUND_DEPTHS.map((depth) =>
    renderHtml({
      path: '/x'.repeat(depth), // only the depth matters, because the path is not shown
      title: 'Page not found',
      summary: 'There is no page at this address.',
      markdown: NOT_FOUND,
      folder: '',
    }),
  );
  return { pages, notFound };
}
