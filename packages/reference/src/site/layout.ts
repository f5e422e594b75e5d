import { escapeHtml } from '../html.ts';
import { SEARCH_LIBRARY_NAME } from './assets.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATH, REFERENCE_PATHS, relativeLink, SEARCH_ENTRIES_PATH } from './site-paths.ts';

export interface Page {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  /** Assets, in addition to the styles of every page. */
  readonly styles?: readonly string[];
  /** Assets, in addition to the scripts of every page. */
  readonly modules?: readonly string[];
  /** Assets that a module will import. */
  readonly preloads?: readonly string[];
  /** HTML below the header. */
  readonly body: string;
}

/** Renders what all pages share around their body: the header with its links, styles, search, and dark mode. */
export function renderPage(
  { path, title, description, styles = [], modules = [], preloads = [], body }: Page,
  { assets, guides, about }: Site,
): string {
  const link = (target: string) => relativeLink(path, target);
  const asset = (name: string) => link(`${assets.path}/${name}`);
  const references = REFERENCE_PATHS.map((shown) => ({ path: shown.path, title: shown.name }));
  const tabs = [...references.slice(0, 1), ...guides.guides, ...references.slice(1)].map((tab) => {
    const isHere = tab.path === path || (tab.path !== REFERENCE_PATH && path.startsWith(`${tab.path}/`));
    return `<a href="${link(tab.path)}"${isHere ? ' aria-current="page"' : ''}>${escapeHtml(tab.title)}</a>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${asset('favicon.svg')}" type="image/svg+xml">
${['site.css', ...styles].map((name) => `<link rel="stylesheet" href="${asset(name)}">`).join('\n')}
${preloads.map((name) => `<link rel="modulepreload" href="${asset(name)}">`).join('\n')}
</head>
<body>
<header class="site-header">
<a class="site-name" href="${link(REFERENCE_PATH)}"><img src="${asset('favicon.svg')}" alt="" width="20" height="20">${escapeHtml(about.title)}</a>
<nav aria-label="Documentation">${tabs.join('')}</nav>
<button id="search-button" type="button" aria-keyshortcuts="Control+K Meta+K">${SEARCH_ICON}<span>Search</span><kbd>Ctrl K</kbd></button>
<button id="color-mode" type="button" aria-label="Dark mode" aria-pressed="false">${COLOR_MODE_ICON}</button>
</header>
<script src="${asset('theme.js')}"></script>
${body}
<dialog id="search" aria-label="Search" data-root="${link('/')}" data-library="${asset(SEARCH_LIBRARY_NAME)}" data-entries="${link(SEARCH_ENTRIES_PATH)}">
<input type="search" aria-label="Search" placeholder="Operations, guides, error codes" autocomplete="off" spellcheck="false">
<p role="status"></p>
<ol></ol>
</dialog>
${['search.js', ...modules].map((name) => `<script type="module" src="${asset(name)}"></script>`).join('\n')}
</body>
</html>
`;
}

const SEARCH_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M11 11l3.5 3.5M12.25 7a5.25 5.25 0 1 1-10.5 0 5.25 5.25 0 0 1 10.5 0z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg>';

const COLOR_MODE_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/></svg>';
