import { STATUS_CODES } from 'node:http';
import { curlSample, typeScriptSample } from './code-samples.ts';
import { renderConsole } from './console.ts';
import { fence, table } from './markdown.ts';
import { errorCodesOf, type Operation, type Response, type Schema, successOf, typeOf } from './open-api.ts';
import { type DocumentedVersion, type Page, REFERENCE_PATH } from './site.ts';

/** The reference of a version: the description of each operation, and beside it samples of calls. */
export function referencePage(about: DocumentedVersion, guides: readonly Page[]): Page {
  const { path, document, operations } = about;
  const { title, description } = document.info;
  const [summary = ''] = description.split('\n\n');
  const markdown = [
    introduce(about, guides),
    ...operations.map((operation) => describeOperation(operation, about)),
    '## Schemas {#schemas}',
    ...Object.entries(document.components.schemas).map(describeSchema),
    '## Headers of responses {#headers}',
    ...describeHeaders(operations),
  ].join('\n\n');
  return { path, title, summary, markdown };
}

function introduce(
  { document, documentPath, baseUrl, operations }: DocumentedVersion,
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
  const [beginning] = guides;
  return `<section class="operation"><div>

# ${info.title}

${lead}

${table(['', ''], facts)}

${rest.join('\n\n')}

${beginning === undefined ? '' : `To begin with: [${beginning.title}](${beginning.path}).`}

</div><div class="example"><article><header>A first request, with your key</header>

${first === undefined ? '' : fence('bash', `export PETSTORE_API_KEY=pso_…\n\n${curlSample(baseUrl, first)}`)}

</article></div></section>`;
}

function describeOperation(operation: Operation, about: DocumentedVersion): string {
  const { baseUrl } = about;
  const { operationId, method, summary, description, externalDocs, parameters = [], responses } = operation;
  const headers = Object.keys(headersOf(Object.values(responses))).map((name) => `[\`${name}\`](#header-${name})`);
  const fields = parameters.map(({ name, schema, required = false, description: meaning = '' }) =>
    describeField(name, schema, required, meaning),
  );
  const { status, body } = successOf(operation);
  return `<section class="operation"><div>

## ${summary} {#${operationId}}

<p class="endpoint">${renderMethod(method)} <code>${new URL(baseUrl).pathname}${operation.path}</code>${marksOf(
    operation,
  )
    .map((mark) => ` <mark>${mark}</mark>`)
    .join('')}</p>

${description}

${externalDocs === undefined ? '' : `[${externalDocs.description}](${pathOf(externalDocs.url)})`}

${parameters.length === 0 ? '' : `<h3>Parameters</h3>\n\n${table(['Name', 'Meaning'], fields)}`}

<h3>Responses</h3>

${table(['Status', 'Meaning'], Object.entries(responses).map(describeResponse))}

<small>With the headers ${headers.join(', ')}.</small>

</div><div class="example">
<article class="samples"><header><fieldset aria-label="Language of the sample: ${summary}">
<label><input type="radio" name="${operationId}-language" value="bash" checked> curl</label>
<label><input type="radio" name="${operationId}-language" value="typescript"> TypeScript</label>
</fieldset></header>

${fence('bash', curlSample(baseUrl, operation))}

${fence('typescript', typeScriptSample(baseUrl, operation))}

</article>
${renderConsole(operation, about)}
${body === undefined ? '' : `<article><header>${status} ${STATUS_CODES[status]}</header>\n\n${fence('json', JSON.stringify(body, undefined, 2))}\n\n</article>`}
</div></section>`;
}

const STABILITY_MARKS = { beta: 'Beta', experimental: 'Experimental' } as const;

/** What callers have to know before they rely on the operation. */
function marksOf({ deprecated, 'x-stability': stability, 'x-sunset': sunset }: Operation): readonly string[] {
  return [deprecated && 'Deprecated', stability && STABILITY_MARKS[stability], sunset && `Sunset ${sunset}`].filter(
    (mark) => typeof mark === 'string',
  );
}

/** The path of a page, whose address in the document is that of the production server. */
function pathOf(address: string): string {
  const { pathname, hash } = new URL(address);
  return pathname.slice(1) + hash;
}

/** A method in its colour, as HTML. */
export const renderMethod = (method: string): string => `<b class="${method.toLowerCase()}">${method}</b>`;

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

function describeResponse([status, response]: [string, Response]): readonly string[] {
  const name = status === 'default' ? 'Others' : `${status} ${STATUS_CODES[status]}`;
  const codes = errorCodesOf(response).map((code) => `\`${code}\``);
  return [
    `<b class="status-${status.charAt(0)}">${name}</b>`,
    codes.length === 0 ? response.description : `${response.description}<br>${codes.join(' ')}`,
  ];
}

/** The headers of responses, each once, by name. */
const headersOf = (responses: readonly Response[]): NonNullable<Response['headers']> =>
  Object.fromEntries(responses.flatMap(({ headers = {} }) => Object.entries(headers)));

const describeHeaders = (operations: readonly Operation[]): readonly string[] =>
  Object.entries(headersOf(operations.flatMap(({ responses }) => Object.values(responses)))).map(
    ([name, { description, example }]) =>
      `### \`${name}\` {#header-${name}}\n\n${description}\n\nExample: \`${example}\``,
  );
