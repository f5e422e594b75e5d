import { posix } from 'node:path';
import { ERROR_CATALOGUE } from '@petstore/api';
import GithubSlugger from 'github-slugger';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { Marked, type Tokens } from 'marked';
import { ERRORS_PATH, type Page, relativeLink, type Site } from './site.ts';

for (const [name, language] of Object.entries({ bash, http, json, python, typescript })) {
  hljs.registerLanguage(name, language);
}
hljs.registerAliases(['js'], { languageName: 'typescript' });

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes a text for use in elements and double-quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);

export interface RenderedPage {
  readonly html: string;
  /** The headings of the second level, as HTML. */
  readonly sections: readonly { readonly id: string; readonly text: string }[];
}

/** The languages that wrap, because every part is of interest: commands, outputs, headers and JSON. Programs scroll. */
const WRAPPING = ['', 'bash', 'console', 'http', 'json', 'sh'];
/** Short names, options and times with hyphens, at which browsers would break lines: `Retry-After`. */
const BREAKABLE = /^(?=.*-)[\w:+ -]{3,32}$/;
/** An id at the end of a heading, used instead of one made from its words. */
const GIVEN_ID = / \{#([\w-]+)\}$/;

/**
 * Renders the Markdown of a page. Links between files become links between pages, error codes link to their pages, headings
 * link to themselves, code is highlighted, and wide content can be scrolled.
 *
 * @throws Error for a link to a file below `docs` that has no page
 */
export function renderMarkdown(page: Page, site: Site): RenderedPage {
  const slugger = new GithubSlugger();
  const sections: { id: string; text: string }[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ depth, text, tokens }) {
        const html = this.parser.parseInline(tokens).replace(GIVEN_ID, '');
        if (depth === 1) return `<h1>${html}</h1>\n`;
        const id = GIVEN_ID.exec(text)?.[1] ?? slugger.slug(html.replaceAll(/<[^>]*>/g, ''));
        if (depth === 2) sections.push({ id, text: html });
        return `<h${depth} id="${id}">${html}${anchor(id, html)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const target = resolveLink(href, page, site);
        const text = this.parser.parseInline(tokens);
        return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      code({ text, lang = '' }) {
        const html = hljs.getLanguage(lang) ? hljs.highlight(text, { language: lang }).value : escapeHtml(text);
        // Content that scrolls must be able to get the focus.
        const attributes = WRAPPING.includes(lang) ? ' class="wraps"' : ' tabindex="0"';
        return `<div class="code"><pre${attributes} data-language="${lang}"><code>${html}</code></pre></div>\n`;
      },
      codespan({ text }) {
        const code = `<code${BREAKABLE.test(text) ? ' class="whole"' : ''}>${escapeHtml(text)}</code>`;
        if (!(text in ERROR_CATALOGUE) || text === page.code) return code;
        return `<a href="${relativeLink(page.path, `${ERRORS_PATH}/${text}`)}">${code}</a>`;
      },
      table({ header, rows }) {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
        const head = header.some(({ text }) => text !== '') ? `<thead>${row(header, 'th')}</thead>` : '';
        const body = rows.map((cells) => row(cells, 'td')).join('\n');
        return `<figure aria-label="Table" tabindex="0"><table>${head}<tbody>\n${body}\n</tbody></table></figure>\n`;
      },
    },
  });
  return { html: marked.parse(page.markdown, { async: false }), sections };
}

/** The link of a heading to itself, on the line of its last word. */
const anchor = (id: string, html: string): string =>
  `&nbsp;<a class="anchor" href="#${id}" aria-label="Link to ${html.replaceAll(/<[^>]*>/g, '')}">#</a>`;

/** @returns `undefined` for a source file, which readers of the site do not have */
function resolveLink(href: string, { path, folder }: Page, { pathsBySource }: Site): string | undefined {
  if (href.startsWith('/')) return relativeLink(path, href);
  const [file = '', fragment] = href.split('#');
  if (/^[a-z]+:/.test(file) || !file.endsWith('.md')) return href;
  const source = posix.join(folder, file);
  if (source.startsWith('../')) return undefined;
  const target = pathsBySource.get(source);
  if (target === undefined) throw new Error(`${path} links to docs/${source}, which is no page.`);
  return relativeLink(path, target) + (fragment === undefined ? '' : `#${fragment}`);
}

/** The Markdown of a page for readers of Markdown, whose links lead to Markdown. */
export const markdownOf = ({ path, folder, markdown }: Page, { pathsBySource }: Site): string =>
  markdown
    .replaceAll(/\]\(([^)#\s]+\.md)(#[^)]*)?\)/g, (written, file: string, fragment = '') => {
      const target = pathsBySource.get(posix.join(folder, file));
      return target === undefined ? written : `](${relativeLink(path, target)}.md${fragment})`;
    })
    .replaceAll(/\]\((\/[^)]*)\)/g, (_, target: string) => `](${relativeLink(path, target)})`);
