import { scriptJson } from '../html.ts';
import { BUNDLE_NAME } from './assets.ts';
import { renderPage } from './layout.ts';
import type { Site } from './site.ts';
import { ERRORS_PATH, type ReferencePath, relativeLink } from './site-paths.ts';

/** The page of the interactive reference of one version, which the browser draws. */
export function renderReferencePage(site: Site, reference: ReferencePath): string {
  const { path, documentPath, basePath, suffix } = reference;
  const link = (target: string) => relativeLink(path, target);
  const asset = (name: string) => link(`${site.assets.path}/${name}`);
  const data = {
    documentUrl: link(documentPath),
    baseUrl: link(basePath),
    errorsUrl: link(ERRORS_PATH),
    bundleUrl: asset(BUNDLE_NAME),
    guides: site.guides.guides.map((guide) => ({ title: guide.title, summary: guide.summary, href: link(guide.path) })),
  };
  const { title } = site.about;
  return renderPage(
    {
      path,
      title: suffix === undefined ? title : `${title} · ${suffix}`,
      description: site.interfaces[reference.version].summary,
      preloads: [BUNDLE_NAME],
      body: `<div id="reference"></div>
<noscript><p class="notice">The interactive reference needs JavaScript. Without it, read the guides above or the <a href="${link(documentPath)}">OpenAPI document</a>.</p></noscript>
<p id="reference-failure" class="notice" role="alert" hidden>The reference could not be loaded. Reload the page to try again, or read the <a href="${link(documentPath)}">OpenAPI document</a>.</p>
<script type="application/json" id="site">${scriptJson(data)}</script>`,
      modules: ['reference.js'],
    },
    site,
  );
}
