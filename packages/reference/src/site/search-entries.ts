import { ERROR_CATALOGUE } from '@petstore/api';
import type { SearchEntry } from '../browser/search-entry.d.ts';
import { linkTargets } from '../guides/link-targets.ts';
import type { ErrorGuide, Guide } from '../guides/load-guides.ts';
import { renderMarkdown } from '../guides/render-markdown.ts';
import { renderProse } from '../reference/render-prose.ts';
import { SEARCH_KEYWORDS } from './search-keywords.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, type ReferencePath } from './site-paths.ts';

/** The entries of search: operations and schemas, each section of the guides, and error codes. */
export function searchEntries(site: Site): readonly SearchEntry[] {
  const entries = [
    ...REFERENCE_PATHS.flatMap((reference) => describeReference(reference, site)),
    ...site.guides.guides.flatMap((guide) => describeGuide(guide, site)),
    ...site.guides.errors.map((guide) => describeError(guide, site)),
  ];
  const lost = Object.keys(SEARCH_KEYWORDS).filter((href) => entries.every((entry) => entry.href !== href));
  if (lost.length > 0) throw new Error(`SEARCH_KEYWORDS names what is no entry: ${lost.join(', ')}.`);
  return entries.map((entry) => {
    const keywords = SEARCH_KEYWORDS[entry.href];
    return keywords === undefined ? entry : { ...entry, keywords };
  });
}

function describeReference({ path, version }: ReferencePath, { interfaces }: Site): SearchEntry[] {
  const { title, description, operations, schemas, headers } = interfaces[version];
  const base = path.slice(1);
  // Most headers are the same in every version, and are found once.
  const isOfV1 = (header: string) => interfaces.v1.headers.some((other) => other.name === header);
  return [
    { href: base, title, section: `Reference, ${version}`, text: plain(renderProse(description, path)) },
    ...operations.map((operation) => ({
      kind: 'operation' as const,
      href: `${base}#${operation.operationId}`,
      title: operation.summary,
      section: `${version}: ${operation.method} ${operation.path}`,
      text: [
        operation.operationId,
        withoutCode(operation.description),
        ...operation.parameters.map((parameter) => parameter.name),
      ].join(' '),
    })),
    ...schemas.map((schema) => ({
      href: `${base}#${schema.name}`,
      title: schema.name,
      section: `${version}: schema`,
      text: [withoutCode(schema.description), ...schema.properties.map((property) => property.name)].join(' '),
    })),
    ...headers
      .filter((header) => version === 'v1' || !isOfV1(header.name))
      .map((header) => ({
        href: `${base}#header-${header.name}`,
        title: header.name,
        section: `${version}: header`,
        text: withoutCode(header.description),
      })),
  ];
}

function describeError(guide: ErrorGuide, site: Site): SearchEntry {
  const { status, message } = ERROR_CATALOGUE[guide.code];
  const { html } = renderMarkdown(guide.markdown, linkTargets(guide, site));
  const text = `${message} ${plain(withoutHeadings(html))}`;
  return { href: guide.path.slice(1), title: guide.code, section: `Error ${status}`, text };
}

/** One entry for the text below each heading, and one for the guide, with the text before its first section. */
function describeGuide(guide: Guide, site: Site): SearchEntry[] {
  const { html } = renderMarkdown(guide.markdown, linkTargets(guide, site));
  const href = guide.path.slice(1);
  return html.split(/(?=<h[23] )/).map((section) => {
    const [, id, title] = /^<h[23] id="([^"]*)">(.*?)<\/h[23]>/.exec(section) ?? [];
    const text = plain(withoutHeadings(section));
    if (id === undefined || title === undefined)
      return { kind: 'guide', href, title: guide.title, section: 'Guide', text };
    return { href: `${href}#${id}`, title: plain(title), section: guide.title, text };
  });
}

/** Descriptions of the parts of a document use no other Markdown than code spans. */
const withoutCode = (markdown: string): string => markdown.replaceAll('`', '');

const withoutHeadings = (html: string): string => html.replaceAll(/<h(\d) .*?<\/h\1>/g, '');

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** Names that rendered Markdown has, and numbers: highlight.js writes an apostrophe as `&#x27;`, marked as `&#39;`. */
const decodeEntity = (entity: string, name: string): string =>
  name.startsWith('#') ? String.fromCodePoint(Number(name.slice(1).replace('x', '0x'))) : (ENTITIES[name] ?? entity);

/** The text of rendered Markdown. */
const plain = (html: string): string =>
  html
    .replaceAll(/<\/(?:p|li|h\d|t[dhr]|pre)>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(\w+|#\d+|#x[\da-f]+);/gi, decodeEntity)
    .replaceAll(/\s+/g, ' ')
    .trim();
