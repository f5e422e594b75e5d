import type { ApiVersion } from '@petstore/api';
import { loadGuides } from '../guides/load-guides.ts';
import { renderErrorPage, renderGuidePage } from '../guides/render-guide.ts';
import { describeInterface } from '../interface/describe-interface.ts';
import type { OpenApiDocument } from '../interface/open-api.ts';
import { Resource } from '../resource.ts';
import { findAssets } from './assets.ts';
import { POLICY } from './content-security-policy.ts';
import { rootOf } from './layout.ts';
import { errorMarkdownOf, markdownOf, ROBOTS_TEXT, renderLlmsText } from './markdown-pages.ts';
import { renderNotFoundPage } from './not-found-page.ts';
import { renderReferencePage } from './reference-page.ts';
import { searchEntries } from './search-entries.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, SEARCH_ENTRIES_PATH } from './site-paths.ts';

/** An asset never changes, because its path contains a hash of the contents. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };
const HTML_TYPE = 'text/html; charset=utf-8';

/** What the site serves. Each part is rendered when it is first requested. */
export interface SiteResources {
  /** By path. The Markdown of a page is at its path with `.md`. */
  readonly pages: ReadonlyMap<string, Resource>;
  /** The page for what is at no path, by the number of segments of that path, from 2 on. */
  readonly notFound: readonly Resource[];
}

/** Deeper paths are mistyped by no person. */
const NOT_FOUND_DEPTHS = [2, 3, 4, 5];

export function createSite(documentOf: (version: ApiVersion) => object): SiteResources {
  // Documents are generated in this form; the tests read every field.
  const describe = (version: ApiVersion) => describeInterface(documentOf(version) as OpenApiDocument);
  const interfaces = { v1: describe('v1'), v2: describe('v2') };
  const guides = loadGuides(rootOf(interfaces.v1.baseUrl));
  const site: Site = { assets: findAssets(), guides, about: interfaces.v1, interfaces };
  const pages = new Map<string, Resource>([
    [SEARCH_ENTRIES_PATH, createSearchEntries(site)],
    ['/llms.txt', createText('text/plain', () => renderLlmsText(site))],
    ['/robots.txt', createText('text/plain', () => ROBOTS_TEXT)],
  ]);
  const { path, files } = site.assets;
  for (const { name, contentType, read } of files) {
    pages.set(`${path}/${name}`, new Resource(contentType, ASSET_HEADERS, read));
  }
  for (const reference of REFERENCE_PATHS) {
    pages.set(
      reference.path,
      createPage(() => renderReferencePage(site, reference)),
    );
  }
  for (const guide of guides.guides) {
    pages.set(
      guide.path,
      createPage(() => renderGuidePage(guide, site)),
    );
    pages.set(
      `${guide.path}.md`,
      createText('text/markdown', () => markdownOf(guide, site)),
    );
  }
  for (const guide of guides.errors) {
    pages.set(
      guide.path,
      createPage(() => renderErrorPage(guide, site)),
    );
    pages.set(
      `${guide.path}.md`,
      createText('text/markdown', () => errorMarkdownOf(guide, site)),
    );
  }
  const notFound = NOT_FOUND_DEPTHS.map((depth) => createPage(() => renderNotFoundPage('/x'.repeat(depth), site)));
  return { pages, notFound };
}

const createText = (type: string, render: () => string): Resource =>
  new Resource(`${type}; charset=utf-8`, { 'cache-control': 'no-cache' }, () => Buffer.from(render()));

const createSearchEntries = (site: Site): Resource =>
  new Resource('text/javascript; charset=utf-8', { 'cache-control': 'no-cache' }, () =>
    Buffer.from(`export const entries = ${JSON.stringify(searchEntries(site))};\n`),
  );

function createPage(render: () => string): Resource {
  const headers = { 'cache-control': 'no-cache', 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' };
  return new Resource(HTML_TYPE, headers, () => Buffer.from(render()));
}
