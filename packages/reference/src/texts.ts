import { firstSentence, type Page, REFERENCE_PATH, type Site } from './site.ts';

/** A summary of the site for programs that read texts (https://llmstxt.org). */
export function renderLlmsText({ name, root, versions, guides, errors }: Site): string {
  const link = ({ path, title, summary }: Page) => `- [${title}](${root}${path}.md): ${summary}`;
  const documents = versions.map(
    ({ version, documentPath, document }) =>
      `- [OpenAPI document of ${version}](${root}${documentPath}): ${firstSentence(document.info.description)}`,
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

/** The documentation may be indexed; paths that need a key may not. */
export const renderRobotsText = ({ versions }: Site): string => `User-agent: *
Allow: ${REFERENCE_PATH}
Allow: /llms.txt
${versions.map(({ version }) => `Allow: /${version}/openapi.`).join('\n')}
${versions.map(({ version }) => `Disallow: /${version}/`).join('\n')}
Disallow: /trpc
`;
