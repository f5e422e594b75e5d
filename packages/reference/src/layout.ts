import { SCRIPTS, STYLES } from './assets.ts';
import { escapeHtml, renderMarkdown } from './markdown.ts';
import { renderMethod } from './reference-page.ts';
import { ERRORS_PATH, type Page, REFERENCE_PATH, rootFrom, type Site } from './site.ts';

/**
 * Renders a page: the header, the list of all pages, the text, and the list of its sections.
 *
 * @param root the root, relative to the address of the page
 */
export function renderPage(page: Page, site: Site, root = rootFrom(page.path)): string {
  const { path, title } = page;
  const { name, assets, versions } = site;
  const { html, sections } = renderMarkdown(page);
  const isReference = versions.some((version) => version.path === path);
  const navigation = renderNavigation(path, site);
  return `<!doctype html>
<html lang="en" data-rendered-for="${escapeHtml(site.root)}">
<head>
<meta charset="utf-8">
<base href="${root}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title.startsWith(name) ? title : `${title} · ${name}`)}</title>
<meta name="description" content="${escapeHtml(page.summary.replaceAll('`', ''))}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.path}/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${assets.path}/${STYLES}">
</head>
<body>
${path === '' ? '' : `<a class="skip" href="${path}#main">Skip to the text</a>`}
${renderHeader(page, site)}
<div class="columns">
<details class="pages"><summary>All pages</summary><nav aria-label="All pages">${navigation}</nav></details>
<aside><nav aria-label="Pages">${navigation}</nav></aside>
<main id="main" tabindex="-1"${isReference ? ' class="reference"' : ''}>
${html}
</main>
${sections.length < 2 || isReference ? '' : `<aside><nav aria-label="On this page"><h2>On this page</h2><ul>${sections.map(({ href, text }) => `<li><a href="${href}">${text}</a></li>`).join('')}</ul></nav></aside>`}
</div>
<dialog id="search" aria-label="Search">
<article>
<input type="search" aria-label="Search" placeholder="Operations, guides, headers, error codes" autocomplete="off" spellcheck="false">
<p role="status"></p>
<ol></ol>
</article>
</dialog>
${SCRIPTS.map((file) => `<script type="module" src="${assets.path}/${file}"></script>`).join('\n')}
</body>
</html>
`;
}

function renderHeader({ path, code }: Page, { name, assets, versions, guides }: Site): string {
  const tab = (target: string, text: string, isHere: boolean) =>
    `<a href="${target}"${isHere ? ` aria-current="${target === path ? 'page' : 'true'}"` : ''}>${text}</a>`;
  const isErrors = path === ERRORS_PATH || code !== undefined;
  const isGuide = guides.some((guide) => guide.path === path) && !isErrors;
  const isReference = versions.some((version) => version.path === path);
  return `<header class="site-header">
<a class="site-name" href="${REFERENCE_PATH}"><img src="${assets.path}/favicon.svg" alt="" width="20" height="20"><span><b>${escapeHtml(name)}</b></span></a>
<nav aria-label="Documentation">${tab(REFERENCE_PATH, 'Reference', isReference)}${tab(guides[0]?.path ?? '', 'Guides', isGuide)}${tab(ERRORS_PATH, 'Errors', isErrors)}</nav>
<nav class="versions" aria-label="Version of the API">${versions.map((version) => tab(version.path, version.version, version.path === path)).join('')}</nav>
<button id="search-button" type="button" aria-keyshortcuts="Control+K Meta+K /">${SEARCH_ICON}<span>Search <small>Ctrl K</small></span></button>
</header>`;
}

const SEARCH_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M11 11l3.5 3.5M12.25 7a5.25 5.25 0 1 1-10.5 0 5.25 5.25 0 0 1 10.5 0z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg>';

/** Links to all pages, to the operations of the page's (or the current) version and, on pages of codes, to codes. */
function renderNavigation(path: string, { versions, guides, errors }: Site): string {
  const item = (target: string, text: string, children = '') => {
    const here = target === path ? ' aria-current="page"' : '';
    return `<li><a href="${target}"${here}>${text}</a>${children && `<ul>${children}</ul>`}</li>`;
  };
  const shown = versions.find((version) => version.path === path) ?? versions[0];
  const references = versions.map(({ path: target, version, document, operations }) => {
    if (version !== shown?.version) return item(target, version);
    const sections = document.tags.map(({ name }) => {
      const links = operations
        .filter(({ tags }) => tags.includes(name))
        .map(({ operationId, method, summary, 'x-stability': stability = '' }) =>
          item(
            `${target}#${operationId}`,
            `${escapeHtml(summary)} <span>${stability && `<small>${stability}</small> `}${renderMethod(method)}</span>`,
          ),
        );
      const content = links.length === 0 ? '<small>No operations</small>' : `<ul>${links.join('')}</ul>`;
      return `<li class="section"><h3>${escapeHtml(name)}</h3>${content}</li>`;
    });
    const more = [item(`${target}#schemas`, 'Schemas'), item(`${target}#headers`, 'Headers of responses')];
    return item(target, version, [...sections, ...more].join(''));
  });
  const guideItems = guides.map((guide) => {
    const isOpen = guide.path === ERRORS_PATH && path.startsWith(ERRORS_PATH);
    const codes = isOpen ? errors.map((error) => item(error.path, `<code>${error.code}</code>`)) : [];
    return item(guide.path, escapeHtml(guide.title), codes.join(''));
  });
  return `<h2>Reference</h2><ul>${references.join('')}</ul><h2>Guides</h2><ul>${guideItems.join('')}</ul>`;
}
