import { renderPage } from './layout.ts';
import { renderNavigation } from './navigation.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATH, relativeLink } from './site-paths.ts';

/** For a person who followed a wrong link, or mistyped one. @param path only its depth matters; it is not shown */
export function renderNotFoundPage(path: string, site: Site): string {
  return renderPage(
    {
      path,
      title: `Page not found · ${site.about.title}`,
      description: 'There is no page at this address.',
      body: `<div class="columns">
${renderNavigation(path, site)}
<main id="main" class="text" tabindex="-1"><h1>Page not found</h1>
<p>There is no page at this address. Paths are exact: case and slashes count.</p>
<p>Search, choose a page from the list, or begin at the <a href="${relativeLink(path, REFERENCE_PATH)}">reference</a>.</p></main>
</div>`,
    },
    site,
  );
}
