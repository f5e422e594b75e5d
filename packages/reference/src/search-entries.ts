import { ERROR_CATALOGUE } from '@petstore/api';
import type { SearchEntry } from './browser/search-entry.d.ts';
import { renderMarkdown } from './markdown.ts';
import type { Page, Site } from './site.ts';

/** The entries of search: each page, and each of its sections that has a link. An error code is one entry. */
export function searchEntries(site: Site): readonly SearchEntry[] {
  const operationIds = site.versions.flatMap(({ operations }) => operations.map(({ operationId }) => operationId));
  const entries = [...site.references, ...site.guides, ...site.errors].flatMap((page) => describePage(page, site));
  return entries.map((entry) => {
    const [, id = ''] = entry.href.split('#');
    return operationIds.includes(id) ? { ...entry, kind: 'operation', text: `${id} ${entry.text}` } : entry;
  });
}

function describePage(page: Page, site: Site): readonly SearchEntry[] {
  const { path, title, code } = page;
  const { html } = renderMarkdown(page);
  const summary = page.summary.replaceAll('`', '');
  if (code !== undefined) {
    return [{ href: path, title, section: `Error ${ERROR_CATALOGUE[code].status}`, summary, text: plain(html) }];
  }
  const isGuide = site.guides.includes(page);
  const version = site.versions.find((documented) => documented.path === path)?.version;
  let chapter = '';
  return html.split(/(?=<h[23])/).flatMap((part, index): SearchEntry[] => {
    const text = plain(part);
    if (index === 0) {
      return [{ href: path, title, section: version ?? 'Guide', summary, text, ...(isGuide && { kind: 'guide' }) }];
    }
    const [, level, id, heading = ''] = /^<h([23]) id="([^"]*)">(.*?)&nbsp;/.exec(part) ?? [];
    if (id === undefined) return []; // the parameters and responses of an operation
    const name = plain(heading);
    const section = [version ?? title, level === '3' ? chapter : []].flat().join(', ');
    if (level === '2') chapter = name;
    return [{ href: `${path}#${id}`, title: name, section, text }];
  });
}

const ENTITIES: ReadonlyMap<string, string> = new Map(Object.entries({ lt: '<', gt: '>', quot: '"', amp: '&' }));

/** Decodes entities in rendered Markdown: highlight.js writes an apostrophe as `&#x27;`, marked as `&#39;`. */
const decodeEntity = (entity: string, name: string): string =>
  name.startsWith('#')
    ? String.fromCodePoint(Number(name.slice(1).replace('x', '0x')))
    : (ENTITIES.get(name) ?? entity);

/** The text of rendered Markdown without headings. */
const plain = (html: string): string =>
  html
    .replaceAll(/<h(\d).*?<\/h\1>/g, '')
    .replaceAll(/<(?:br|\/(?:p|li|t[dhr]|pre|header))>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(\w+|#\d+|#x[\da-f]+);/gi, decodeEntity)
    .replaceAll(/\s+/g, ' ')
    .trim();
