import { loadGuides } from '../guides/load-guides.ts';
import { renderErrorPage, renderGuidePage } from '../guides/render-guide.ts';
import { Resource } from '../resource.ts';
import { findAssets } from './assets.ts';
import { GUIDE_POLICY, REFERENCE_POLICY } from './content-security-policy.ts';
import { describeInterface } from './interface-operations.ts';
import { renderReferencePage } from './reference-page.ts';
import { searchEntries } from './search-entries.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, SEARCH_ENTRIES_PATH } from './site-paths.ts';

/** An asset's path names its contents: it never changes. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };
const HTML_TYPE = 'text/html; charset=utf-8';

/** Everything under `/docs`, by path. What a file holds is made when it is first asked for. */
export function createSite(): ReadonlyMap<string, Resource> {
  const interfaces = { v1: describeInterface('v1'), v2: describeInterface('v2') };
  const site: Site = { assets: findAssets(), guides: loadGuides(), about: interfaces.v1, interfaces };
  const resources = new Map<string, Resource>();
  for (const { name, contentType, read } of site.assets.files) {
    resources.set(`${site.assets.path}/${name}`, new Resource(contentType, ASSET_HEADERS, read));
  }
  resources.set(
    SEARCH_ENTRIES_PATH,
    new Resource('text/javascript; charset=utf-8', { 'cache-control': 'no-cache' }, () =>
      Buffer.from(`export const entries = ${JSON.stringify(searchEntries(site))};\n`),
    ),
  );
  for (const reference of REFERENCE_PATHS) {
    resources.set(
      reference.path,
      createPage(REFERENCE_POLICY, () => renderReferencePage(site, reference)),
    );
  }
  for (const guide of site.guides.guides) {
    resources.set(
      guide.path,
      createPage(GUIDE_POLICY, () => renderGuidePage(guide, site)),
    );
  }
  for (const guide of site.guides.errors) {
    resources.set(
      guide.path,
      createPage(GUIDE_POLICY, () => renderErrorPage(guide, site)),
    );
  }
  return resources;
}

function createPage(policy: string, render: () => string): Resource {
  const headers = { 'cache-control': 'no-cache', 'content-security-policy': policy, 'referrer-policy': 'same-origin' };
  return new Resource(HTML_TYPE, headers, () => Buffer.from(render()));
}
