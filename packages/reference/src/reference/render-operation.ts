import { STATUS_CODES } from 'node:http';
import { escapeHtml, renderCode } from '../html.ts';
import type { DescribedField, DescribedOperation, DescribedResponse } from '../interface/describe-interface.ts';
import { renderAnchor } from '../site/anchor.ts';
import { codeAttributes, codeBlock, highlight } from '../site/highlight.ts';
import { ERRORS_PATH, relativeLink } from '../site/site-paths.ts';
import { codeSamples, sampleUrl } from './code-samples.ts';
import type { ReferenceContext } from './reference-context.ts';
import { renderConsole } from './render-console.ts';
import { renderProse } from './render-prose.ts';

/** An operation: what it is on the left, how it is called on the right. */
export function renderOperation(operation: DescribedOperation, context: ReferenceContext): string {
  const { operationId, summary, description, parameters, responses, more } = operation;
  const common = commonHeaders(responses);
  return `<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<div class="about">
<h2 id="${operationId}-title">${escapeHtml(summary)}${renderAnchor(operationId, escapeHtml(summary))}</h2>
${renderEndpoint(operation, context)}
${renderProse(description, context.path)}
${more === undefined ? '' : `<p><a href="${relativeLink(context.path, more.path)}">${escapeHtml(more.text)}</a></p>`}
${parameters.length === 0 ? '' : `<h3>Parameters</h3>\n${renderFields(parameters, context.path)}`}
<h3>Responses</h3>
<dl class="fields responses">
${responses.map((response) => renderResponse(response, common, context.path)).join('\n')}
</dl>
<p class="note">Every response also carries ${common.map(renderHeaderLink).join(', ')}.</p>
</div>
<div class="example">
${renderSamples(operation, context)}
${renderConsole(operation, context)}
${renderExample(responses)}
</div>
</section>`;
}

function renderEndpoint({ method, path, badges }: DescribedOperation, { baseUrl }: ReferenceContext): string {
  const marks = badges.map((badge) => `<span class="badge">${escapeHtml(badge)}</span>`);
  const full = new URL(baseUrl).pathname + path;
  return `<p class="endpoint">${renderMethod(method)} <code>${escapeHtml(full).replaceAll('/', '<wbr>/')}</code>${marks.join('')}</p>`;
}

export const renderMethod = (method: string): string =>
  `<span class="method method-${method.toLowerCase()}">${method}</span>`;

/** Parameters or properties. */
export function renderFields(fields: readonly DescribedField[], path: string): string {
  const items = fields.map(({ name, type, isRequired, description, values }) => {
    const required = isRequired ? ' <span class="required">required</span>' : '';
    const code = (value: string) => `<code>${escapeHtml(value)}</code>`;
    const choice =
      values.length === 0 ? '' : renderProse(`One of ${values.map((value) => `\`${value}\``).join(', ')}.`, path);
    return `<div><dt>${code(name)} <span class="type">${escapeHtml(type)}</span>${required}</dt><dd>${renderProse(description, path)}${choice}</dd></div>`;
  });
  return `<dl class="fields">\n${items.join('\n')}\n</dl>`;
}

/** It depends on the request rather than on the response. */
const CORS_HEADER = 'Access-Control-Allow-Origin';

/** What no response is without. */
const commonHeaders = ([first, ...others]: readonly DescribedResponse[]): readonly string[] =>
  (first?.headers ?? []).filter(
    (name) => name !== CORS_HEADER && others.every(({ headers }) => headers.includes(name)),
  );

function renderResponse(
  { status, description, errorCodes, headers }: DescribedResponse,
  common: readonly string[],
  path: string,
): string {
  const name = status === 'default' ? 'Others' : `${status} ${STATUS_CODES[status] ?? ''}`;
  const codes = errorCodes.map(
    (code) => `<li><a href="${relativeLink(path, `${ERRORS_PATH}/${code}`)}"><code>${code}</code></a></li>`,
  );
  const special = headers.filter((header) => header !== CORS_HEADER && !common.includes(header));
  return `<div><dt><span class="status status-${status.charAt(0)}">${name.trim()}</span></dt><dd>${renderProse(description, path)}${
    codes.length === 0 ? '' : `<ul class="codes">${codes.join('')}</ul>`
  }${special.length === 0 ? '' : `<p class="note">With ${special.map(renderHeaderLink).join(', ')}</p>`}</dd></div>`;
}

const renderHeaderLink = (name: string): string => `<a href="#header-${name}">${renderCode(name)}</a>`;

/** Radio buttons choose the language, so that it can be chosen without scripts, too. */
function renderSamples(operation: DescribedOperation, { baseUrl }: ReferenceContext): string {
  const { operationId, summary } = operation;
  const url = escapeHtml(sampleUrl(baseUrl, operation));
  const samples = codeSamples(baseUrl, operation);
  const choices = samples.map(
    ({ language, label }, index) =>
      `<label><input type="radio" name="${operationId}-language" value="${language}"${index === 0 ? ' checked' : ''}><span>${label}</span></label>`,
  );
  const blocks = samples.map(({ language, source }) => {
    // What is typed into the console replaces it.
    const html = highlight(source, language).replace(url, `<span data-url>${url}</span>`);
    return `<pre${codeAttributes(language)} data-language="${language}"><code>${html}</code></pre>`;
  });
  return `<div class="card samples">
<fieldset><legend class="unseen">Language of the sample: ${escapeHtml(summary)}</legend>${choices.join('')}</fieldset>
<div class="code">${blocks.join('\n')}</div>
</div>`;
}

/** The first success, with the body that the document shows for it. */
function renderExample([success]: readonly DescribedResponse[]): string {
  if (success?.example === undefined) return '';
  // It is of limited height.
  const body = codeBlock(JSON.stringify(success.example, undefined, 2), 'json', ' class="wraps" tabindex="0"');
  return `<div class="card"><p class="card-title">${success.status} ${STATUS_CODES[success.status] ?? ''}</p>\n${body}</div>`;
}
