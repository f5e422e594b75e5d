import type { ApiVersion } from '@petstore/api';
import { loadGuides } from '../guides/load-guides.ts';
import { renderErrorPage, renderGuidePage } from '../guides/render-guide.ts';
import { describeInterface } from '../interface/describe-interface.ts';
import type { OpenApiDocument } from '../interface/open-api.ts';
import { Resource } from '../resource.ts';
import { findAssets } from './assets.ts';
import { GUIDE_POLICY, REFERENCE_POLICY } from './content-security-policy.ts';
import { rootOf } from './layout.ts';
import { renderReferencePage } from './reference-page.ts';
import { searchEntries } from './search-entries.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, SEARCH_ENTRIES_PATH } from './site-paths.ts';

/** An asset never changes, because its path contains a hash of the contents. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };
const HTML_TYPE = 'text/html; charset=utf-8';

/** All resources under `/docs`, by path. Each is rendered when it is first requested. */
export function createSite(documentOf: (version: ApiVersion) => object): ReadonlyMap<string, Resource> {
  // Documents are generated in this form; the tests read every field.
  const describe = (version: ApiVersion) => describeInterface(documentOf(version) as OpenApiDocument);
  const interfaces = { v1: describe('v1'), v2: describe('v2') };
  const site: Site = {
    assets: findAssets(),
    guides: loadGuides(rootOf(interfaces.v1.baseUrl)),
    about: interfaces.v1,
    interfaces,
  };
  const { assets, guides } = site;
  return new Map([
    ...assets.files.map(
      ({ name, contentType, read }) =>
        [`${assets.path}/${name}`, new Resource(contentType, ASSET_HEADERS, read)] as const,
    ),
    [SEARCH_ENTRIES_PATH, createSearchEntries(site)],
    ...REFERENCE_PATHS.map(
      (reference) =>
        [reference.path, createPage(REFERENCE_POLICY, () => renderReferencePage(site, reference))] as const,
    ),
    ...guides.guides.map(
      (guide) => [guide.path, createPage(GUIDE_POLICY, () => renderGuidePage(guide, site))] as const,
    ),
    ...guides.errors.map(
      (guide) => [guide.path, createPage(GUIDE_POLICY, () => renderErrorPage(guide, site))] as const,
    ),
  ]);
}

const createSearchEntries = (site: Site): Resource =>
  new Resource('text/javascript; charset=utf-8', { 'cache-control': 'no-cache' }, () =>
    Buffer.from(`export const entries = ${JSON.stringify(searchEntries(site))};\n`),
  );

function createPage(policy: string, render: () => string): Resource {
  const headers = { 'cache-control': 'no-cache', 'content-security-policy': policy, 'referrer-policy': 'same-origin' };
  return new Resource(HTML_TYPE, headers, () => Buffer.from(render()));
}
