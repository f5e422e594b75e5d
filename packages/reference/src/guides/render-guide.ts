import { escapeHtml } from '../html.ts';
import { renderAnchor } from '../site/anchor.ts';
import { renderPage } from '../site/layout.ts';
import { renderNavigation } from '../site/navigation.ts';
import type { Site } from '../site/site.ts';
import { relativeLink } from '../site/site-paths.ts';
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
  const facts = describeErrorCode(guide.code, guide.path, site);
  return renderArticle(guide, `<h1><code>${guide.code}</code></h1>\n${facts}\n${html}`, headings, site);
}

function renderArticle(guide: Guide, html: string, headings: readonly Heading[], site: Site): string {
  const { path, title, summary } = guide;
  return renderPage(
    {
      path,
      title: `${title} · ${site.about.title}`,
      description: summary.replaceAll('`', ''),
      body: `<div class="columns">
${renderNavigation(path, site)}
<main id="main" class="text" tabindex="-1">${withAnchors(html)}
${renderTurns(guide, site)}
<p class="note turn"><a href="${relativeLink(path, path)}.md">This page as Markdown</a></p></main>
${renderContents(headings)}
</div>`,
    },
    site,
  );
}

/** Each heading with a link to itself. */
const withAnchors = (html: string): string =>
  html.replaceAll(
    /<h([23]) id="([^"]*)">(.*?)<\/h\1>/g,
    (_, level: string, id: string, text: string) =>
      `<h${level} id="${id}">${text}${renderAnchor(id, text.replaceAll(/<[^>]*>/g, ''))}</h${level}>`,
  );

/** Links to the pages before and after this one, of the guides or of the codes. */
function renderTurns({ path }: Guide, { guides: { guides, errors } }: Site): string {
  const pages: readonly Guide[] = guides.some((guide) => guide.path === path) ? guides : errors;
  const index = pages.findIndex((page) => page.path === path);
  const turn = (page: Guide | undefined, rel: string, name: string) =>
    page === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${relativeLink(path, page.path)}"><span class="note">${name}</span> ${escapeHtml(page.title)}</a>`;
  return `<nav class="turns" aria-label="Neighbouring pages">${turn(pages[index - 1], 'prev', 'Previous')}${turn(pages[index + 1], 'next', 'Next')}</nav>`;
}

/** The table of contents, shown where there is room beside the text. */
function renderContents(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ level }) => level === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${text}</a></li>`);
  if (items.length < 2) return '<div></div>';
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`;
}
