import { escapeHtml } from '../html.ts';
import { SEARCH_LIBRARY_NAME, STYLES_NAME } from './assets.ts';
import type { Site } from './site.ts';
import { ERRORS_PATH, REFERENCE_PATH, REFERENCE_PATHS, relativeLink, SEARCH_ENTRIES_PATH } from './site-paths.ts';

interface Page {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  /** Assets, in addition to the scripts of every page. */
  readonly modules?: readonly string[];
  /** HTML below the header; it has an element `main`, with this id. */
  readonly body: string;
}

/** Renders what all pages share around their body: the header with its links, styles, search, and dark mode. */
export function renderPage({ path, title, description, modules = [], body }: Page, site: Site): string {
  const { assets, about } = site;
  const link = (target: string) => relativeLink(path, target);
  const asset = (name: string) => link(`${assets.path}/${name}`);
  return `<!doctype html>
<html lang="en" data-root="${link('/') || './'}" data-rendered-for="${escapeHtml(rootOf(about.baseUrl))}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${asset('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset(STYLES_NAME)}">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${renderHeader(path, site)}
<script src="${asset('theme.js')}"></script>
${body}
<dialog id="search" aria-label="Search" data-library="${asset(SEARCH_LIBRARY_NAME)}" data-entries="${link(SEARCH_ENTRIES_PATH)}">
<input type="search" aria-label="Search" placeholder="Operations, guides, headers, error codes" autocomplete="off" spellcheck="false">
<p role="status"></p>
<ol></ol>
</dialog>
${['base-url.js', 'page.js', 'search.js', ...modules].map((name) => `<script type="module" src="${asset(name)}"></script>`).join('\n')}
</body>
</html>
`;
}

/** What an installation is below. @param baseUrl of a version */
export const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v\d+$/, '');

function renderHeader(path: string, { assets, guides: { guides }, about }: Site): string {
  const link = (target: string) => relativeLink(path, target);
  const [firstGuide] = guides;
  const isReference = REFERENCE_PATHS.some((reference) => reference.path === path);
  const isErrors = path === ERRORS_PATH || path.startsWith(`${ERRORS_PATH}/`);
  const isGuide = guides.some((guide) => guide.path === path) && !isErrors;
  const tab = (target: string, text: string, isHere: boolean) =>
    `<a href="${link(target)}"${isHere ? ` aria-current="${target === path ? 'page' : 'true'}"` : ''}>${text}</a>`;
  const versions = REFERENCE_PATHS.map((reference) => tab(reference.path, reference.version, reference.path === path));
  return `<header class="site-header">
<a class="site-name" href="${link(REFERENCE_PATH)}"><img src="${link(`${assets.path}/favicon.svg`)}" alt="" width="20" height="20"><span>${escapeHtml(about.title)}</span></a>
<nav aria-label="Documentation">${tab(REFERENCE_PATH, 'Reference', isReference)}${tab(firstGuide?.path ?? REFERENCE_PATH, 'Guides', isGuide)}${tab(ERRORS_PATH, 'Errors', isErrors)}</nav>
<nav class="versions" aria-label="Version of the API">${versions.join('')}</nav>
<button id="search-button" type="button" aria-keyshortcuts="Control+K Meta+K /">${SEARCH_ICON}<span>Search</span><kbd>Ctrl K</kbd></button>
<button id="color-mode" type="button" aria-label="Dark mode" aria-pressed="false">${COLOR_MODE_ICON}</button>
</header>`;
}

const SEARCH_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M11 11l3.5 3.5M12.25 7a5.25 5.25 0 1 1-10.5 0 5.25 5.25 0 0 1 10.5 0z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg>';

const COLOR_MODE_ICON =
  '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/></svg>';
