import { posix } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';
import { escapeHtml, renderCode } from '../html.ts';
import { codeBlock } from '../site/highlight.ts';

/** Resolves the links of a Markdown file. */
export interface LinkTargets {
  /** Path of the Markdown file below `docs`. */
  readonly source: string;
  /** @returns the link to the page of a Markdown file, or `undefined` where it has none */
  linkToSource(source: string): string | undefined;
  /** @returns the link to the page of an error code, or `undefined` where the text is no other error code */
  linkToErrorCode(text: string): string | undefined;
}

export interface Heading {
  readonly id: string;
  readonly level: number;
  /** HTML. */
  readonly text: string;
}

export interface RenderedMarkdown {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/**
 * Renders Markdown: links between files become links between pages, error codes become links to their pages, and tables
 * can be scrolled on narrow screens.
 *
 * @throws Error for a link to a file below `docs` that has no page
 */
export function renderMarkdown(markdown: string, targets: LinkTargets): RenderedMarkdown {
  const marked = new Marked({ gfm: true }, gfmHeadingId());
  marked.use({
    renderer: {
      link({ href, tokens }) {
        const target = resolveLink(href, targets);
        const text = this.parser.parseInline(tokens);
        return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      code: ({ text, lang = '' }) => `${codeBlock(text, lang)}\n`,
      codespan({ text }) {
        const link = targets.linkToErrorCode(text);
        const code = renderCode(text);
        return link === undefined ? code : `<a href="${escapeHtml(link)}">${code}</a>`;
      },
      table(token) {
        const cells = (row: readonly Tokens.TableCell[], tag: string) =>
          row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('');
        // What is a text is not a word wide on a phone.
        const isText = token.rows.some((row) => (row.at(-1)?.text.length ?? 0) > 40);
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
        const head = `<thead><tr>${cells(token.header, 'th')}</tr></thead>`;
        return `<div class="table" role="group" aria-label="Table" tabindex="0"><table${isText ? ' class="ends-in-text"' : ''}>${head}<tbody>\n${rows}\n</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  return { html, headings: getHeadingList().map(({ id, level, text }) => ({ id, level, text })) };
}

/** @returns `undefined` for a file of the sources, which readers of the site do not have */
function resolveLink(href: string, { source, linkToSource }: LinkTargets): string | undefined {
  const [file = '', fragment] = href.split('#');
  if (/^[a-z]+:/.test(file) || !file.endsWith('.md')) return href;
  const target = posix.join(posix.dirname(source), file);
  if (target.startsWith('../')) return undefined;
  const link = linkToSource(target);
  if (link === undefined) throw new Error(`docs/${source} links to docs/${target}, which is no page.`);
  return fragment === undefined ? link : `${link}#${fragment}`;
}
