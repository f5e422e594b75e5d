import { ERROR_CATALOGUE } from '@petstore/api';
import GithubSlugger from 'github-slugger';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { Marked, type Tokens } from 'marked';
import { ERRORS_PATH, type Page } from './site.ts';

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
  readonly sections: readonly { readonly href: string; readonly text: string }[];
}

/** The languages that wrap, because every part is of interest: commands, outputs, headers and JSON. Programs scroll. */
const WRAPPING = ['', 'bash', 'console', 'http', 'json', 'sh'];
/** Short names, options and times with hyphens, at which browsers would break lines: `Retry-After`. */
const BREAKABLE = /^(?=.*-)[\w:+ -]{3,32}$/;
/** An id at the end of a heading, used instead of one made from its words. */
const GIVEN_ID = / \{#([\w-]+)\}$/;

/**
 * Renders the Markdown of a page. Error codes link to their pages, headings link to themselves, code is highlighted, and wide
 * content can be scrolled.
 */
export function renderMarkdown({ path, code: ownCode, markdown }: Page): RenderedPage {
  // A fragment alone would lead to the root, which is the base of every link.
  const linkTo = (id: string) => `${path}#${id}`;
  const slugger = new GithubSlugger();
  const sections: { href: string; text: string }[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ depth, text, tokens }) {
        const html = this.parser.parseInline(tokens).replace(GIVEN_ID, '');
        if (depth === 1) return `<h1>${html}</h1>\n`;
        const id = GIVEN_ID.exec(text)?.[1] ?? slugger.slug(html.replaceAll(/<[^>]*>/g, ''));
        if (depth === 2) sections.push({ href: linkTo(id), text: html });
        return `<h${depth} id="${id}">${html}${anchor(linkTo(id), html)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const target = href.startsWith('#') ? linkTo(href.slice(1)) : href;
        return `<a href="${escapeHtml(target)}">${this.parser.parseInline(tokens)}</a>`;
      },
      code({ text, lang = '' }) {
        const html = hljs.getLanguage(lang) ? hljs.highlight(text, { language: lang }).value : escapeHtml(text);
        // Content that scrolls must be able to get the focus.
        const attributes = WRAPPING.includes(lang) ? ' class="wraps"' : ' tabindex="0"';
        return `<div class="code"><pre${attributes} data-language="${lang}"><code>${html}</code></pre></div>\n`;
      },
      codespan({ text }) {
        const code = `<code${BREAKABLE.test(text) ? ' class="whole"' : ''}>${escapeHtml(text)}</code>`;
        if (!Object.hasOwn(ERROR_CATALOGUE, text) || text === ownCode) return code;
        return `<a href="${ERRORS_PATH}/${text}">${code}</a>`;
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
  return { html: marked.parse(markdown, { async: false }), sections };
}

/** The link of a heading to itself, on the line of its last word. */
const anchor = (href: string, html: string): string =>
  `&nbsp;<a class="anchor" href="${href}" aria-label="Link to ${html.replaceAll(/<[^>]*>/g, '')}">#</a>`;

/** A block of code. */
export const fence = (language: string, code: string): string => `\`\`\`${language}\n${code}\n\`\`\``;

/** A table. @param header empty texts for a table without a header */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const oneLine = (cell: string) => cell.replaceAll('|', '\\|').replaceAll(/\n+/g, '<br>');
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map(oneLine).join(' | ')} |`).join('\n');
}
