import { escapeHtml } from '../html.ts';
import { codeBlock } from '../site/highlight.ts';
import type { Site } from '../site/site.ts';
import { AUTHENTICATION_PATH, type ReferencePath, relativeLink } from '../site/site-paths.ts';
import { codeSamples } from './code-samples.ts';
import { renderProse } from './render-prose.ts';

/** The pages that a caller wants next. */
const CARDS: Readonly<Record<ReferencePath['version'], readonly string[]>> = {
  v1: ['guides/five-minutes-rest.md', 'errors.md', 'guides/limits.md'],
  v2: ['guides/v2-preview.md', 'guides/versions.md', 'errors.md'],
};

/** The beginning of a reference: what it is, where it is, how one gets a key, and a first request. */
export function renderIntroduction(site: Site, { path, version, documentPath }: ReferencePath): string {
  const about = site.interfaces[version];
  const link = (target: string) => relativeLink(path, target);
  const [lead = '', ...rest] = about.description.split('\n\n');
  const servers = about.otherServers.map(
    ({ url, description = 'Also at' }) =>
      `<div><dt>${escapeHtml(description)}</dt><dd><code>${escapeHtml(url)}</code></dd></div>`,
  );
  const documents = ['json', 'yaml'].map(
    (format) => `<a href="${link(documentPath.replace(/json$/, format))}">openapi.${format}</a>`,
  );
  return `<section class="operation introduction" aria-labelledby="top">
<div class="about">
<h1 id="top">${escapeHtml(about.title)}</h1>
<div class="lead">${renderProse(lead, path)}</div>
<dl class="facts">
<div><dt>Base URL</dt><dd><code data-installed>${escapeHtml(about.baseUrl)}</code></dd></div>
${servers.join('\n')}
<div><dt>Key</dt><dd>${renderProse(about.keys, path)}<p>The operator of the service issues them: <a href="${link(AUTHENTICATION_PATH)}#get-a-key">get a key</a>.</p></dd></div>
<div><dt>Document</dt><dd>OpenAPI 3.1, version ${escapeHtml(about.documentVersion)}: ${documents.join(', ')}</dd></div>
</dl>
${renderProse(rest.join('\n\n'), path)}
</div>
<div class="example">${renderFirstRequest(site, version)}</div>
</section>
${renderCards(site, path, CARDS[version])}`;
}

function renderFirstRequest(site: Site, version: ReferencePath['version']): string {
  const { operations, baseUrl } = site.interfaces[version];
  const [operation] = operations;
  const [curl] = operation === undefined ? [] : codeSamples(baseUrl, operation);
  if (curl === undefined) return '';
  const commands = `export PETSTORE_API_KEY=pso_…\n\n${curl.source}`;
  return `<div class="card"><p class="card-title">A first request, with your key</p>\n${codeBlock(commands, 'bash')}</div>`;
}

/** Links to guides, with what they are about. @param sources of these guides */
function renderCards({ guides: { guides } }: Site, path: string, sources: readonly string[]): string {
  const cards = sources.flatMap((source) => {
    const guide = guides.find((candidate) => candidate.source === source);
    if (guide === undefined) return [];
    return `<li><a href="${relativeLink(path, guide.path)}">${escapeHtml(guide.title)}</a>${renderProse(guide.summary, path)}</li>`;
  });
  return `<ul class="cards">${cards.join('\n')}</ul>`;
}
