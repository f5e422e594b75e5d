import { escapeHtml } from '../html.ts';
import { renderPage } from '../site/layout.ts';
import type { Site } from '../site/site.ts';
import { operationLink, REFERENCE_PATH, REFERENCE_PATHS, relativeLink } from '../site/site-paths.ts';
import { describeErrorCode } from './describe-error-code.ts';
import { linkTargets } from './link-targets.ts';
import type { ErrorGuide, Guide } from './load-guides.ts';
import { type Heading, renderMarkdown } from './render-markdown.ts';

/** The page of a guide, with a navigation of guides and operations. */
export function renderGuidePage(guide: Guide, site: Site): string {
  const { html, headings } = renderMarkdown(guide.markdown, linkTargets(guide, site));
  return renderArticle(guide, html, headings, site);
}

/** The page of an error code: facts from the catalogue and the document, then the guide's advice. */
export function renderErrorPage(guide: ErrorGuide, site: Site): string {
  const advice = guide.markdown.slice(guide.markdown.indexOf('\n'));
  const { html, headings } = renderMarkdown(advice, linkTargets(guide, site));
  const facts = describeErrorCode(guide.code, guide.path, site.about);
  return renderArticle(guide, `<h1><code>${guide.code}</code></h1>\n${facts}\n${html}`, headings, site);
}

function renderArticle(
  { path, title, summary }: Guide,
  html: string,
  headings: readonly Heading[],
  site: Site,
): string {
  return renderPage(
    {
      path,
      title: `${title} · ${site.about.title}`,
      description: summary.replaceAll('`', ''),
      styles: ['guide.css'],
      modules: ['base-url.js'],
      body: `<div class="guide">
<details class="guide-nav"><summary>All guides and operations</summary>${renderNavigation(path, site)}</details>
<aside class="guide-nav">${renderNavigation(path, site)}</aside>
<main class="text" data-root="${relativeLink(path, '/')}">${html}</main>
${renderContents(headings)}
</div>`,
    },
    site,
  );
}

/** Links to the other pages; to those of error codes only below the guide to errors. */
function renderNavigation(path: string, { guides: { guides, errors }, about }: Site): string {
  const item = (target: string, text: string, children = '') => {
    const here = target === path ? ' aria-current="page"' : '';
    return `<li><a href="${relativeLink(path, target)}"${here}>${text}</a>${children}</li>`;
  };
  const guideItems = guides.map((guide) => {
    const isOpen = path === guide.path || path.startsWith(`${guide.path}/`);
    const codes = isOpen ? errors.filter((error) => error.path.startsWith(`${guide.path}/`)) : [];
    const children = codes.map((error) => item(error.path, `<code>${error.code}</code>`)).join('');
    return item(guide.path, escapeHtml(guide.title), children && `<ul>${children}</ul>`);
  });
  const operationItems = about.operations.map((operation) => {
    const method = `<span class="method method-${operation.method.toLowerCase()}">${operation.method}</span>`;
    return `<li><a href="${operationLink(path, operation)}">${escapeHtml(operation.summary)}${method}</a></li>`;
  });
  const otherVersions = REFERENCE_PATHS.flatMap((reference) =>
    reference.path === REFERENCE_PATH ? [] : [item(reference.path, reference.name)],
  );
  return `<nav aria-label="Guides"><h2>Guides</h2><ul>${guideItems.join('')}</ul>
<h2><a href="${relativeLink(path, REFERENCE_PATH)}">Reference</a></h2><ul>${operationItems.join('')}${otherVersions.join('')}</ul></nav>`;
}

/** The table of contents, shown where there is room beside the text. */
function renderContents(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ level }) => level === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${text}</a></li>`);
  if (items.length < 2) return '<div></div>';
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`;
}
