import { escapeHtml } from '../html.ts';
import { renderMethod } from '../reference/render-operation.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, relativeLink } from './site-paths.ts';

/** Links to all pages and operations: beside the text, and on a narrow screen in a list that opens above it. */
export function renderNavigation(path: string, site: Site): string {
  const list = renderLists(path, site);
  return `<details class="site-nav"><summary>All pages</summary><nav aria-label="All pages">${list}</nav></details>
<aside class="site-nav"><nav aria-label="Pages">${list}</nav></aside>`;
}

/** Operations of the version that is shown; else of v1. Codes only below the guide to errors. */
function renderLists(path: string, { guides: { guides, errors }, interfaces }: Site): string {
  const item = (target: string, text: string, children = '') => {
    const here = target === path ? ' aria-current="page"' : '';
    return `<li><a href="${relativeLink(path, target)}"${here}>${text}</a>${children && `<ul>${children}</ul>`}</li>`;
  };
  const guideItems = guides.map((guide) => {
    const isOpen = path === guide.path || path.startsWith(`${guide.path}/`);
    const codes = isOpen ? errors.filter((error) => error.path.startsWith(`${guide.path}/`)) : [];
    return item(
      guide.path,
      escapeHtml(guide.title),
      codes.map((error) => item(error.path, `<code>${error.code}</code>`)).join(''),
    );
  });
  const isShown = (reference: { path: string; version: string }) =>
    reference.path === path || (reference.version === 'v1' && REFERENCE_PATHS.every((other) => other.path !== path));
  const references = REFERENCE_PATHS.map((reference) => {
    const operations = isShown(reference) ? interfaces[reference.version].operations : [];
    const links = operations.map(
      ({ operationId, method, summary }) =>
        `<li><a href="${relativeLink(path, reference.path)}#${operationId}">${escapeHtml(summary)}${renderMethod(method)}</a></li>`,
    );
    const more = links.length === 0 ? '' : `${links.join('')}${subsections(relativeLink(path, reference.path))}`;
    return item(reference.path, reference.version, more);
  });
  return `<h2>Reference</h2><ul>${references.join('')}</ul>
<h2>Guides</h2><ul>${guideItems.join('')}</ul>`;
}

const subsections = (link: string): string =>
  `<li><a href="${link}#schemas">Schemas</a></li><li><a href="${link}#headers">Headers of responses</a></li>`;
