import { STATUS_CODES } from 'node:http';
import { curlSample, typeScriptSample } from './code-samples.ts';
import { renderConsole } from './console.ts';
import { errorCodesOf, type Operation, type Response, type Schema, successOf, typeOf } from './open-api.ts';
import { type DocumentedVersion, firstSentence, type Page, REFERENCE_PATH } from './site.ts';
import { fence, table } from './write-markdown.ts';

/** The guides to read next. */
const NEXT: Readonly<Record<DocumentedVersion['version'], readonly string[]>> = {
  v1: ['five-minutes-rest', 'errors', 'limits'],
  v2: ['v2-preview', 'versions', 'errors'],
};

/** The reference of a version: the description of each operation, and beside it samples of calls. */
export function referencePage(about: DocumentedVersion, guides: readonly Page[]): Page {
  const { path, document, operations } = about;
  const { title, description } = document.info;
  const markdown = [
    introduce(about, guides),
    ...operations.map((operation) => describeOperation(operation, about)),
    '## Schemas {#schemas}',
    ...Object.entries(document.components.schemas).map(describeSchema),
    '## Headers of responses {#headers}',
    ...describeHeaders(operations),
  ].join('\n\n');
  return { path, title, summary: firstSentence(description), markdown, folder: '' };
}

function introduce(
  { version, document, documentPath, baseUrl, operations }: DocumentedVersion,
  guides: readonly Page[],
): string {
  const { info, servers, components } = document;
  const [lead = '', ...rest] = info.description.split('\n\n');
  const key = components.securitySchemes['bearerAuth']?.description ?? '';
  const facts = [
    ['Base URL', `\`${baseUrl}\``],
    ...servers.slice(1).map(({ url, description = 'Also at' }) => [description, `\`${url}\``]),
    ['Key', `${key} The operator of the service issues them: [get a key](${REFERENCE_PATH}/authentication#get-a-key).`],
    [
      'Document',
      `OpenAPI 3.1, version ${info.version}: [openapi.json](${documentPath}), [openapi.yaml](${documentPath.replace('json', 'yaml')})`,
    ],
  ];
  const [first] = operations;
  const next = NEXT[version].flatMap((name) => guides.find(({ path }) => path === `${REFERENCE_PATH}/${name}`) ?? []);
  return `<section class="operation"><div>

# ${info.title}

${lead}

${table(['', ''], facts)}

${rest.join('\n\n')}

</div><div class="example"><article><header>A first request, with your key</header>

${first === undefined ? '' : fence('bash', `export PETSTORE_API_KEY=pso_…\n\n${curlSample(baseUrl, first)}`)}

</article></div></section>
<div class="cards">

${next.map((guide) => `<article>\n\n**[${guide.title}](${guide.path})**\n\n${guide.summary}\n\n</article>`).join('\n')}

</div>`;
}

function describeOperation(operation: Operation, { path, baseUrl }: DocumentedVersion): string {
  const { operationId, method, summary, description, deprecated, externalDocs, parameters = [], responses } = operation;
  const badges = [...(deprecated ? ['Deprecated'] : []), ...(operation['x-badges'] ?? []).map(({ name }) => name)];
  const common = commonHeaders(Object.values(responses));
  const headers = Object.entries(responses).map(([status, response]) => describeResponse(status, response, common));
  const fields = parameters.map(({ name, schema, required = false, description: meaning = '' }) =>
    describeField(name, schema, required, meaning),
  );
  const { status, body } = successOf(operation);
  return `<section class="operation"><div>

## ${summary} {#${operationId}}

<p class="endpoint">${renderMethod(method)} <code>${new URL(baseUrl).pathname}${operation.path}</code>${badges.map((badge) => ` <mark>${badge}</mark>`).join('')}</p>

${description}

${externalDocs === undefined ? '' : `[${externalDocs.description}](${new URL(externalDocs.url).pathname}${new URL(externalDocs.url).hash})`}

${parameters.length === 0 ? '' : `<h3>Parameters</h3>\n\n${table(['Name', 'Meaning'], fields)}`}

<h3>Responses</h3>

${table(['Status', 'Meaning'], headers)}

<small>Every response also carries ${common.map(headerLink).join(', ')}.</small>

</div><div class="example">
<article class="samples"><header><fieldset aria-label="Language of the sample: ${summary}">
<label><input type="radio" name="${operationId}-language" value="bash" checked> curl</label>
<label><input type="radio" name="${operationId}-language" value="typescript"> TypeScript</label>
</fieldset></header>

${fence('bash', curlSample(baseUrl, operation))}

${fence('typescript', typeScriptSample(baseUrl, operation))}

</article>
${renderConsole(operation, path)}
${body === undefined ? '' : `<article><header>${status} ${STATUS_CODES[status]}</header>\n\n${fence('json', JSON.stringify(body, undefined, 2))}\n\n</article>`}
</div></section>`;
}

/** A method in its colour, as HTML. */
export const renderMethod = (method: string): string => `<b class="${method.toLowerCase()}">${method}</b>`;

const headerLink = (name: string): string => `[\`${name}\`](#header-${name})`;

function describeSchema([name, { description = '', properties = {}, required = [] }]: [string, Schema]): string {
  const fields = Object.entries(properties).map(([property, schema]) =>
    describeField(property, schema, required.includes(property), schema.description ?? ''),
  );
  return `### ${name} {#${name}}\n\n${description}\n\n${table(['Property', 'Meaning'], fields)}`;
}

function describeField(name: string, schema: Schema, isRequired: boolean, description: string): readonly string[] {
  const values = schema.enum ?? schema.items?.enum ?? [];
  const choice = values.length === 0 ? '' : ` One of ${values.map((value) => `\`${value}\``).join(', ')}.`;
  return [`\`${name}\`<br><small>${typeOf(schema)}${isRequired ? ', required' : ''}</small>`, description + choice];
}

/** This header depends on the request, not on the response. */
const CORS_HEADER = 'Access-Control-Allow-Origin';

const headersOf = ({ headers = {} }: Response): readonly string[] =>
  Object.keys(headers).filter((name) => name !== CORS_HEADER);

/** The headers that every response has. */
const commonHeaders = ([first, ...others]: readonly Response[]): readonly string[] =>
  first === undefined
    ? []
    : headersOf(first).filter((name) => others.every((other) => headersOf(other).includes(name)));

function describeResponse(status: string, response: Response, common: readonly string[]): readonly string[] {
  const name = status === 'default' ? 'Others' : `${status} ${STATUS_CODES[status]}`;
  const codes = errorCodesOf(response).map((code) => `\`${code}\``);
  const special = headersOf(response)
    .filter((header) => !common.includes(header))
    .map(headerLink);
  return [
    `<b class="status-${status.charAt(0)}">${name}</b>`,
    [response.description, codes.length > 0 && codes.join(' '), special.length > 0 && `With ${special.join(', ')}`]
      .filter(Boolean)
      .join('<br>'),
  ];
}

/** The headers of all responses, each once. */
function describeHeaders(operations: readonly Operation[]): readonly string[] {
  const all = operations
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ headers = {} }) => Object.entries(headers));
  return Object.entries(Object.fromEntries(all)).map(
    ([name, { description, example }]) =>
      `### \`${name}\` {#header-${name}}\n\n${description}\n\nExample: \`${example}\``,
  );
}
