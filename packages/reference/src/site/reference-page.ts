import { scriptJson } from '../html.ts';
import { BUNDLE_NAME } from './assets.ts';
import { renderPage } from './layout.ts';
import type { Site } from './site.ts';
import { BASE_PATH, DOCUMENT_PATH, ERRORS_PATH, REFERENCE_PATH, relativeLink } from './site-paths.ts';

/** The page of the interactive reference. What it shows is drawn by the browser. */
export function renderReferencePage(site: Site): string {
  const link = (target: string) => relativeLink(REFERENCE_PATH, target);
  const asset = (name: string) => link(`${site.assets.path}/${name}`);
  const data = {
    documentUrl: link(DOCUMENT_PATH),
    baseUrl: link(BASE_PATH),
    errorsUrl: link(ERRORS_PATH),
    bundleUrl: asset(BUNDLE_NAME),
    guides: site.guides.guides.map(({ title, summary, path }) => ({ title, summary, href: link(path) })),
  };
  const { title, description } = site.about;
  return renderPage(
    {
      path: REFERENCE_PATH,
      title,
      description,
      preloads: [BUNDLE_NAME],
      body: `<div id="reference"></div>
<noscript><p class="notice">The interactive reference needs JavaScript. Without it, read the guides above or the <a href="${link(DOCUMENT_PATH)}">OpenAPI document</a>.</p></noscript>
<p id="reference-failure" class="notice" role="alert" hidden>The reference could not be loaded. Reload the page to try again, or read the <a href="${link(DOCUMENT_PATH)}">OpenAPI document</a>.</p>
<script type="application/json" id="site">${scriptJson(data)}</script>
<script type="module" src="${asset('reference.js')}"></script>`,
    },
    site,
  );
}
