import { type Page, rootFrom, type Site } from './site.ts';

// Texts for programs, such as language models.

/** A summary of the site (https://llmstxt.org). */
export function renderLlmsText({ name, root, versions, references, guides, errors }: Site): string {
  const link = ({ path, title, summary }: Page) => `- [${title}](${root}/${path}.md): ${summary}`;
  const documents = versions.map(
    ({ version, documentPath }, index) =>
      `- [OpenAPI document of ${version}](${root}/${documentPath}): ${references[index]?.summary}`,
  );
  const operations = versions.flatMap((version) =>
    version.operations.map(({ method, path, summary }) => `- \`${method} ${version.baseUrl}${path}\`: ${summary}`),
  );
  const [lead = '', ...rest] = versions[0]?.document.info.description.split('\n\n') ?? [];
  const lists = {
    Operations: operations,
    Documents: documents,
    Guides: guides.map(link),
    'Error codes': errors.map(link),
  };
  const sections = Object.entries(lists).map(([title, lines]) => `## ${title}\n\n${lines.join('\n')}`);
  return `${[`# ${name}`, `> ${lead}`, ...rest, ...sections].join('\n\n')}\n`;
}

/** The Markdown of a guide or an error page. Its links lead to Markdown, if there is some, and need no base. */
export const renderForPrograms = ({ path, markdown }: Page, { guides, errors }: Site): string =>
  markdown.replaceAll(/\]\(([\w/.-]+)(#[^)]*)?\)/g, (_, target: string, fragment = '') => {
    const hasMarkdown = [...guides, ...errors].some((page) => page.path === target);
    return `](${rootFrom(path)}${target}${hasMarkdown ? '.md' : ''}${fragment})`;
  });
