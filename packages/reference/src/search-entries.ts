import { ERROR_CATALOGUE } from '@petstore/api';
import type { SearchEntry } from './browser/search-entry.d.ts';
import { renderMarkdown } from './markdown.ts';
import { SEARCH_KEYWORDS } from './search-keywords.ts';
import type { Page, Site } from './site.ts';

/** The entries of search: each page, and each of its sections that has a link. An error code is one entry. */
export function searchEntries(site: Site): readonly SearchEntry[] {
  const operationIds = site.versions.flatMap(({ operations }) => operations.map(({ operationId }) => operationId));
  const sections = [...site.references, ...site.guides, ...site.errors].flatMap((page) => describePage(page, site));
  // Most headers are the same in every version, and need only one entry.
  const isRepeated = ({ href, title }: SearchEntry) =>
    href.includes('#header-') && sections.find((other) => other.title === title)?.href !== href;
  const entries = sections.filter((entry) => !isRepeated(entry));
  const lost = Object.keys(SEARCH_KEYWORDS).filter((href) => entries.every((entry) => entry.href !== href));
  if (lost.length > 0) throw new Error(`SEARCH_KEYWORDS names what is no entry: ${lost.join(', ')}.`);
  return entries.map((entry) => {
    const [, id = ''] = entry.href.split('#');
    const keywords = SEARCH_KEYWORDS[entry.href];
    const known = keywords === undefined ? entry : { ...entry, keywords };
    return operationIds.includes(id) ? { ...known, kind: 'operation', text: `${id} ${entry.text}` } : known;
  });
}

function describePage(page: Page, site: Site): readonly SearchEntry[] {
  const { html } = renderMarkdown(page, site);
  const href = page.path.slice(1);
  if (page.code !== undefined) {
    const { status, message } = ERROR_CATALOGUE[page.code];
    return [{ href, title: page.title, section: `Error ${status}`, text: `${message} ${plain(html)}` }];
  }
  const isGuide = site.guides.includes(page);
  const version = site.versions.find(({ path }) => path === page.path)?.version;
  let chapter = '';
  return html.split(/(?=<h[23])/).flatMap((part, index): SearchEntry[] => {
    const text = plain(part);
    if (index === 0)
      return [{ href, title: page.title, section: version ?? 'Guide', text, ...(isGuide && { kind: 'guide' }) }];
    const [, level, id, heading = ''] = /^<h([23]) id="([^"]*)">(.*?)&nbsp;/.exec(part) ?? [];
    if (id === undefined) return []; // the parameters and responses of an operation
    const title = plain(heading);
    const section = [version ?? page.title, level === '3' ? chapter : []].flat().join(', ');
    if (level === '2') chapter = title;
    return [{ href: `${href}#${id}`, title, section, text }];
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** Decodes entities in rendered Markdown: highlight.js writes an apostrophe as `&#x27;`, marked as `&#39;`. */
const decodeEntity = (entity: string, name: string): string =>
  name.startsWith('#') ? String.fromCodePoint(Number(name.slice(1).replace('x', '0x'))) : (ENTITIES[name] ?? entity);

/** The text of rendered Markdown without headings. */
const plain = (html: string): string =>
  html
    .replaceAll(/<h(\d).*?<\/h\1>/g, '')
    .replaceAll(/<(?:br|\/(?:p|li|t[dhr]|pre|header))>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(\w+|#\d+|#x[\da-f]+);/gi, decodeEntity)
    .replaceAll(/\s+/g, ' ')
    .trim();
