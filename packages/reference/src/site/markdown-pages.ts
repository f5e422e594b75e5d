import { posix } from 'node:path';
import { ERROR_CATALOGUE } from '@petstore/api';
import type { ErrorGuide, Guide } from '../guides/load-guides.ts';
import { rootOf } from './layout.ts';
import type { Site } from './site.ts';
import { REFERENCE_PATHS, relativeLink } from './site-paths.ts';

/** A guide as Markdown, whose links lead to Markdown. */
export function markdownOf({ path, source, markdown }: Guide, { guides: { guides, errors } }: Site): string {
  const pathOf = new Map([...guides, ...errors].map((page) => [page.source, page.path]));
  return markdown.replaceAll(/\]\(([^)#\s]+\.md)(#[^)]*)?\)/g, (written, file: string, fragment = '') => {
    const target = pathOf.get(posix.join(posix.dirname(source), file));
    return target === undefined ? written : `](${relativeLink(path, target)}.md${fragment})`;
  });
}

/** The same for an error code, with its status and message. */
export function errorMarkdownOf(guide: ErrorGuide, site: Site): string {
  const { status, message, trpcCode } = ERROR_CATALOGUE[guide.code];
  const markdown = `# ${guide.code}\n\nStatus ${status}; over tRPC ${trpcCode}. ${message}\n`;
  return markdownOf({ ...guide, markdown: markdown + guide.markdown.slice(guide.markdown.indexOf('\n')) }, site);
}

/** What the site holds, for programs that read texts (https://llmstxt.org). */
export function renderLlmsText({ about, interfaces, guides: { guides, errors } }: Site): string {
  const root = rootOf(about.baseUrl);
  const link = ({ path, title, summary }: Guide) => `- [${title}](${root}${path}.md): ${summary}`;
  const documents = REFERENCE_PATHS.map(
    ({ version, documentPath }) =>
      `- [OpenAPI document of ${version}](${root}${documentPath}): ${interfaces[version].summary}`,
  );
  const operations = REFERENCE_PATHS.flatMap(({ version }) =>
    interfaces[version].operations.map(
      ({ method, path, summary }) => `- \`${method} ${interfaces[version].baseUrl}${path}\`: ${summary}`,
    ),
  );
  return `# ${about.title}

> ${about.summary}

${about.description.split('\n\n').slice(1).join('\n\n')}

## Operations

${operations.join('\n')}

## Documents

${documents.join('\n')}

## Guides

${guides.map(link).join('\n')}

## Error codes

${errors.map(link).join('\n')}
`;
}

/** The documentation may be indexed; what needs a key leads to nothing. */
export const ROBOTS_TEXT = `User-agent: *
Allow: /docs
Allow: /llms.txt
${REFERENCE_PATHS.map(({ basePath }) => `Allow: ${basePath}/openapi.`).join('\n')}
${REFERENCE_PATHS.map(({ basePath }) => `Disallow: ${basePath}/`).join('\n')}
Disallow: /trpc
`;
