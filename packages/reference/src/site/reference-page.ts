import { escapeHtml } from '../html.ts';
import type { DescribedInterface } from '../interface/describe-interface.ts';
import type { ReferenceContext } from '../reference/reference-context.ts';
import { renderIntroduction } from '../reference/render-introduction.ts';
import { renderFields, renderOperation } from '../reference/render-operation.ts';
import { renderProse } from '../reference/render-prose.ts';
import { renderAnchor } from './anchor.ts';
import { renderPage } from './layout.ts';
import { renderNavigation } from './navigation.ts';
import type { Site } from './site.ts';
import { ERRORS_PATH, type ReferencePath, relativeLink } from './site-paths.ts';

/** The page of the reference of one version. Scripts add to it, and it can be read without them. */
export function renderReferencePage(site: Site, reference: ReferencePath): string {
  const { path, version } = reference;
  const about = site.interfaces[version];
  const context = { path, baseUrl: about.baseUrl };
  const body = `<main id="main" class="text reference" tabindex="-1" data-base="${relativeLink(path, reference.basePath)}" data-errors="${relativeLink(path, ERRORS_PATH)}">
${renderIntroduction(site, reference)}
${about.operations.map((operation) => renderOperation(operation, context)).join('\n')}
${renderSchemas(about, context)}
${renderHeaders(about, context)}
</main>`;
  return renderPage(
    {
      path,
      title: about.title === site.about.title ? `${about.title} API reference` : about.title,
      description: about.summary,
      modules: ['console.js'],
      body: `<div class="columns wide">${renderNavigation(path, site)}\n${body}\n</div>`,
    },
    site,
  );
}

function renderSchemas({ schemas }: DescribedInterface, { path }: ReferenceContext): string {
  const sections = schemas.map(
    ({ name, description, properties }) => `<section id="${name}" aria-labelledby="${name}-title">
<h3 id="${name}-title">${name}${renderAnchor(name, name)}</h3>
${renderProse(description, path)}
${renderFields(properties, path)}
</section>`,
  );
  return `<section class="models" id="schemas" aria-labelledby="schemas-title">
<h2 id="schemas-title">Schemas${renderAnchor('schemas', 'Schemas')}</h2>
${sections.join('\n')}
</section>`;
}

function renderHeaders({ headers }: DescribedInterface, { path }: ReferenceContext): string {
  const items = headers.map(
    ({ name, description, example }) =>
      `<div id="header-${name}"><dt><code>${name}</code></dt><dd>${renderProse(description, path)}<p class="values"><code>${escapeHtml(example)}</code></p></dd></div>`,
  );
  return `<section class="models" id="headers" aria-labelledby="headers-title">
<h2 id="headers-title">Headers of responses${renderAnchor('headers', 'Headers of responses')}</h2>
<dl class="fields">
${items.join('\n')}
</dl>
</section>`;
}
