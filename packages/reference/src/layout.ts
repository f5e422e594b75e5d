import { SCRIPTS, SEARCH_LIBRARY, STYLES } from './assets.ts';
import { escapeHtml, renderMarkdown } from './markdown.ts';
import { renderMethod } from './reference-page.ts';
import { ERRORS_PATH, type Page, REFERENCE_PATH, relativeLink, SEARCH_ENTRIES_PATH, type Site } from './site.ts';

/** Renders a page: the header, the list of all pages, the text, and links to further pages. */
export function renderPage(page: Page, site: Site): string {
  const { path, title } = page;
  const { name, assets } = site;
  const link = (target: string) => relativeLink(path, target);
  const asset = (file: string) => link(`${assets.path}/${file}`);
  const { html, sections } = renderMarkdown(page, site);
  const reference = site.versions.find((version) => version.path === path);
  const navigation = renderNavigation(path, site);
  return `<!doctype html>
<html lang="en" data-root="${link('/') || './'}" data-rendered-for="${escapeHtml(site.root)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title.startsWith(name) ? title : `${title} · ${name}`)}</title>
<meta name="description" content="${escapeHtml(page.summary.replaceAll('`', ''))}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${asset('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset(STYLES)}">
<script src="${asset('theme.js')}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${renderHeader(page, site)}
<div class="columns">
<details class="pages"><summary>All pages</summary><nav aria-label="All pages">${navigation}</nav></details>
<aside><nav aria-label="Pages">${navigation}</nav></aside>
<main id="main" tabindex="-1"${reference === undefined ? '' : ` class="reference" data-base="${link(`/${reference.version}`)}" data-errors="${link(ERRORS_PATH)}"`}>
${html}
${renderTurns(page, site)}
</main>
${sections.length < 2 || reference !== undefined ? '' : `<aside><nav aria-label="On this page"><h2>On this page</h2><ul>${sections.map(({ id, text }) => `<li><a href="#${id}">${text}</a></li>`).join('')}</ul></nav></aside>`}
</div>
<dialog id="search" aria-label="Search" data-library="${asset(SEARCH_LIBRARY)}" data-entries="${link(SEARCH_ENTRIES_PATH)}">
<article>
<input type="search" aria-label="Search" placeholder="Operations, guides, headers, error codes" autocomplete="off" spellcheck="false">
<p role="status"></p>
<ol></ol>
</article>
</dialog>
${SCRIPTS.map((file) => `<script type="module" src="${asset(file)}"></script>`).join('\n')}
</body>
</html>
`;
}

function renderHeader({ path, code }: Page, { name, assets, versions, guides }: Site): string {
  const link = (target: string) => relativeLink(path, target);
  const tab = (target: string, text: string, isHere: boolean) =>
    `<a href="${link(target)}"${isHere ? ` aria-current="${target === path ? 'page' : 'true'}"` : ''}>${text}</a>`;
  const isErrors = path === ERRORS_PATH || code !== undefined;
  const isGuide = guides.some((guide) => guide.path === path) && !isErrors;
  const isReference = versions.some((version) => version.path === path);
  return `<header class="site-header">
<a class="site-name" href="${link(REFERENCE_PATH)}"><img src="${link(`${assets.path}/favicon.svg`)}" alt="" width="20" height="20"><span><b>${escapeHtml(name)}</b></span></a>
<nav aria-label="Documentation">${tab(REFERENCE_PATH, 'Reference', isReference)}${tab(guides[0]?.path ?? '', 'Guides', isGuide)}${tab(ERRORS_PATH, 'Errors', isErrors)}</nav>
<nav class="versions" aria-label="Version of the API">${versions.map((version) => tab(version.path, version.version, version.path === path)).join('')}</nav>
<button id="search-button" type="button" aria-keyshortcuts="Control+K Meta+K /">${SEARCH_ICON}<span>Search <small>Ctrl K</small></span></button>
<button id="color-mode" type="button" aria-label="Dark mode" aria-pressed="false">${COLOR_MODE_ICON}</button>
</header>`;
}

const SEARCH_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M11 11l3.5 3.5M12.25 7a5.25 5.25 0 1 1-10.5 0 5.25 5.25 0 0 1 10.5 0z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg>';
const COLOR_MODE_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/></svg>';

/** Links to all pages, to the operations of the page's (or the current) version and, on pages of codes, to codes. */
function renderNavigation(path: string, { versions, guides, errors }: Site): string {
  const item = (target: string, text: string, children = '') => {
    const here = target === path ? ' aria-current="page"' : '';
    return `<li><a href="${relativeLink(path, target)}"${here}>${text}</a>${children && `<ul>${children}</ul>`}</li>`;
  };
  const shown = versions.find((version) => version.path === path) ?? versions[0];
  const references = versions.map(({ path: target, version, operations }) => {
    if (version !== shown?.version) return item(target, version);
    const links = operations.map(({ operationId, method, summary }) =>
      item(`${target}#${operationId}`, `${escapeHtml(summary)} ${renderMethod(method)}`),
    );
    const more = [item(`${target}#schemas`, 'Schemas'), item(`${target}#headers`, 'Headers of responses')];
    return item(target, version, [...links, ...more].join(''));
  });
  const guideItems = guides.map((guide) => {
    const isOpen = guide.path === ERRORS_PATH && path.startsWith(ERRORS_PATH);
    const codes = isOpen ? errors.map((error) => item(error.path, `<code>${error.code}</code>`)) : [];
    return item(guide.path, escapeHtml(guide.title), codes.join(''));
  });
  return `<h2>Reference</h2><ul>${references.join('')}</ul><h2>Guides</h2><ul>${guideItems.join('')}</ul>`;
}

/** Links to the pages before and after a guide or a code, and to the page as Markdown. */
function renderTurns(page: Page, { guides, errors }: Site): string {
  const pages = page.code === undefined ? guides : errors;
  const index = pages.indexOf(page);
  if (index < 0) return '';
  const turn = (neighbour: Page | undefined, rel: string, name: string) =>
    neighbour === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${relativeLink(page.path, neighbour.path)}"><small>${name}</small> ${escapeHtml(neighbour.title)}</a>`;
  return `<nav class="turns" aria-label="Neighbouring pages">${turn(pages[index - 1], 'prev', 'Previous')}${turn(pages[index + 1], 'next', 'Next')}</nav>
<p class="turns"><a href="${relativeLink(page.path, page.path)}.md">This page as Markdown</a></p>`;
}
