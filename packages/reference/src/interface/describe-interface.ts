import type { ExternalDocs, OpenApiDocument, Operation, Response, Schema } from './open-api.ts';

/** A parameter of an operation, or a property of a schema. */
export interface DescribedField {
  readonly name: string;
  /** As people read it: `integer (int64)`. */
  readonly type: string;
  readonly isRequired: boolean;
  /** Markdown, of code spans alone. */
  readonly description: string;
  /** What it may be, where that is a short list. */
  readonly values: readonly string[];
}

export interface DescribedParameter extends DescribedField {
  readonly place: 'path' | 'query';
  /** As text; several where it may be given several times. */
  readonly examples: readonly string[];
  readonly isRepeatable: boolean;
}

export interface DescribedResponse {
  /** `default` is every other. */
  readonly status: string;
  readonly description: string;
  readonly headers: readonly string[];
  readonly errorCodes: readonly string[];
  /** The first example of its body. */
  readonly example?: unknown;
}

/** An operation, as the pages describe it. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly method: string;
  /** Below the version's base URL. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly isDeprecated: boolean;
  readonly badges: readonly string[];
  /** Where the site says more: the path of a page of ours, with a fragment. */
  readonly more?: { readonly path: string; readonly text: string };
  readonly parameters: readonly DescribedParameter[];
  readonly responses: readonly DescribedResponse[];
  /** The error codes that the document shows for it. A code of no operation occurs over tRPC only. */
  readonly errorCodes: ReadonlySet<string>;
}

interface DescribedSchema {
  readonly name: string;
  readonly description: string;
  readonly properties: readonly DescribedField[];
}

interface DescribedHeader {
  readonly name: string;
  readonly description: string;
  readonly example: string;
}

export interface DescribedInterface {
  readonly title: string;
  /** One sentence of plain text. */
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  readonly documentVersion: string;
  /** Ends in the version segment. */
  readonly baseUrl: string;
  readonly otherServers: OpenApiDocument['servers'];
  readonly keys: string;
  readonly operations: readonly DescribedOperation[];
  readonly schemas: readonly DescribedSchema[];
  readonly headers: readonly DescribedHeader[];
}

/** Reads from a document what the pages show of it. */
export function describeInterface(document: OpenApiDocument): DescribedInterface {
  const { info, servers, paths, components } = document;
  const [first, ...otherServers] = servers;
  if (first === undefined) throw new Error(`The document of ${info.title} names no server.`);
  return {
    title: info.title,
    summary: firstSentence(info.description),
    description: info.description,
    documentVersion: info.version,
    baseUrl: first.url,
    otherServers,
    keys: components.securitySchemes['bearerAuth']?.description ?? '',
    operations: Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => describeOperation(path, method, operation, document)),
      )
      .toSorted(byImportance),
    schemas: Object.entries(components.schemas).map(([name, schema]) => describeSchema(name, schema)),
    headers: describeHeaders(document),
  };
}

/** A collection before its members, and what is deprecated last. */
const byImportance = (a: DescribedOperation, b: DescribedOperation): number =>
  Number(a.isDeprecated) - Number(b.isDeprecated) || Number(a.path > b.path) - Number(a.path < b.path);

/** For search engines and link previews. */
const firstSentence = (markdown: string): string =>
  (/^.*?\.(?=\s|$)/s.exec(markdown)?.[0] ?? markdown).replaceAll('`', '');

function describeOperation(
  path: string,
  method: string,
  { operationId, summary, description, deprecated = false, parameters = [], responses, ...others }: Operation,
  document: OpenApiDocument,
): DescribedOperation {
  const described = Object.entries(responses).map(([status, response]) => describeResponse(status, response, document));
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    summary,
    description,
    isDeprecated: deprecated,
    badges: [...(deprecated ? ['Deprecated'] : []), ...(others['x-badges'] ?? []).map(({ name }) => name)],
    ...(others.externalDocs && { more: pageOf(others.externalDocs) }),
    parameters: parameters.map(({ name, in: place, required = false, description = '', schema = {}, example }) => ({
      ...describeField(name, schema, required, description),
      place: place === 'path' ? 'path' : 'query',
      examples: example === undefined ? [] : [example].flat().map(String),
      isRepeatable: schema.type === 'array',
    })),
    responses: described,
    errorCodes: new Set(described.flatMap(({ errorCodes }) => errorCodes)),
  };
}

/** The document names our pages by their full addresses. */
const pageOf = ({ url, description = url }: ExternalDocs) => ({
  path: url.replace(/^.*?(?=\/docs\/)/, ''),
  text: description,
});

const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

function describeResponse(
  status: string,
  { $ref, ...inline }: Response,
  { components }: OpenApiDocument,
): DescribedResponse {
  const {
    description = '',
    headers = {},
    content = {},
  } = $ref === undefined ? inline : (components.responses[nameIn($ref)] ?? {});
  const bodies = Object.values(content);
  const examples = bodies.flatMap(({ examples = {} }) => Object.values(examples));
  return {
    status,
    description,
    headers: Object.keys(headers),
    errorCodes: bodies.flatMap(({ schema, examples = {} }) =>
      schema?.allOf?.[0]?.$ref === '#/components/schemas/Error' ? Object.keys(examples) : [],
    ),
    ...(examples[0] !== undefined && { example: examples[0].value }),
  };
}

const describeSchema = (
  name: string,
  { description = '', properties = {}, required = [] }: Schema,
): DescribedSchema => ({
  name,
  description,
  properties: Object.entries(properties).map(([property, schema]) =>
    describeField(property, schema, required.includes(property), schema.description ?? ''),
  ),
});

function describeField(name: string, schema: Schema, isRequired: boolean, description: string): DescribedField {
  const values = schema.enum ?? schema.items?.enum ?? [];
  return { name, type: typeOf(schema), isRequired, description, values };
}

function typeOf({ type = 'object', format, items, minimum, maximum, default: value }: Schema): string {
  const range = minimum !== undefined && maximum !== undefined && `${minimum} to ${maximum}`;
  const facts = [format, range, value !== undefined && `default ${value}`].filter(Boolean).join(', ');
  if (items !== undefined) return `${typeOf(items)}, repeatable`;
  return facts === '' ? type : `${type} (${facts})`;
}

/** The headers of all responses, each once. */
function describeHeaders({ paths, components }: OpenApiDocument): readonly DescribedHeader[] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const found = new Map<string, DescribedHeader>();
  for (const { $ref, ...inline } of responses) {
    const { headers = {} } = $ref === undefined ? inline : (components.responses[nameIn($ref)] ?? {});
    for (const [name, header] of Object.entries(headers)) {
      const { description = '', example = '' } =
        header.$ref === undefined ? header : (components.headers[nameIn(header.$ref)] ?? {});
      if (!found.has(name)) found.set(name, { name, description, example: String(example) });
    }
  }
  return [...found.values()];
}
