import { hash } from 'node:crypto';

/** As much of an OpenAPI document as the page shows. */
interface ShownDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, ShownOperation>>>>;
}

interface ShownOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>;
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'code{font:.9em ui-monospace,monospace}h2{margin-top:2.5rem}th,td{text-align:left;padding:.2rem 1rem .2rem 0}' +
  '@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}a{color:#8ab4f8}}';

/** The page loads nothing, from here or elsewhere, but its own style. */
export const DOCS_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/**
 * The reference as one page of HTML: the operations that the document lists, and the document itself.
 *
 * @param json an OpenAPI document
 */
export function renderDocsPage(json: string): string {
  const { info, paths = {} } = JSON.parse(json) as ShownDocument; // our own document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => renderOperation(method.toUpperCase(), path, operation)),
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)}</title><style>${STYLE}</style></head>
<body>
<h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}</h1>
<p>${escapeHtml(info.description ?? '')}</p>
<p>The OpenAPI document: <a href="/v1/openapi.json">JSON</a>, <a href="/v1/openapi.yaml">YAML</a>.</p>
${operations.join('\n')}
</body>
</html>
`;
}

function renderOperation(method: string, path: string, operation: ShownOperation): string {
  const { operationId = '', summary = '', description = '', deprecated = false, responses = {} } = operation;
  const rows = Object.entries(responses).map(
    ([status, { description: text = '' }]) => `<tr><th>${escapeHtml(status)}</th><td>${escapeHtml(text)}</td></tr>`,
  );
  return `<h2 id="${escapeHtml(operationId)}">${escapeHtml(summary)}${deprecated ? ' (deprecated)' : ''}</h2>
<p><code>${escapeHtml(method)} ${escapeHtml(path)}</code></p>
<p>${escapeHtml(description)}</p>
<table>${rows.join('')}</table>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
