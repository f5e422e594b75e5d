import {
  DEPRECATION_GUIDE_PATH,
  type DocumentedContract,
  describeServers,
  ERROR_CATALOGUE,
  type ErrorCode,
  int64Text,
  sunsetDay,
  type VersionDescription,
} from '@petstore/api';
import type { OpenAPIObject } from 'trpc-to-openapi';
import { z } from 'zod';
import { errorSchema, HEADER_COMPONENTS, type Headers, headersOf, SECURITY } from './components.ts';
import { ErrorResponses } from './error-responses.ts';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type PathItem = NonNullable<OpenAPIObject['paths']>[string];
type Operation = NonNullable<PathItem['get']>;
type Parameter = NonNullable<Operation['parameters']>[number];
type Responses = NonNullable<Operation['responses']>;

/** Each installation serves the document with its own names; these are reserved and do not exist (RFC 2606). */
const PRODUCTION = 'https://api.petstore.example';
const SERVERS = [
  { url: PRODUCTION, description: 'Production' },
  { url: 'https://staging.petstore.example', description: 'Staging' },
];

function describeSuccess(generated: Responses, { rest, deprecation }: DocumentedContract): Responses {
  const { description, content } = generated['200'];
  const isDeprecated = deprecation !== undefined;
  if (rest.response === undefined) return { 204: { description, headers: headersOf(204, isDeprecated) } };
  const body = content['application/json'];
  return {
    200: {
      description,
      headers: headersOf(200, isDeprecated),
      content: { 'application/json': rest.examples === undefined ? body : { ...body, examples: rest.examples } },
    },
  };
}

/** Like the ids in responses: otherwise a typed program would have to convert an id to a number, and round it. */
const { description: _, $schema: __, ...INT64_TEXT } = z.toJSONSchema(int64Text(''));

/** Puts description and example where consoles expect them; the generator leaves them in an optional parameter's schema. */
function describeParameter(parameter: Parameter, idsAreText: boolean): Parameter {
  if (!('schema' in parameter) || parameter.schema === undefined) return parameter;
  // The parameter may have any of these keywords, but the types know either those of a reference or those of a schema.
  const { description, examples, ...schema } = parameter.schema as Record<string, unknown>;
  const [example] = Array.isArray(examples) ? examples : [];
  const isText = idsAreText && schema['format'] === 'int64';
  return {
    ...parameter,
    ...(parameter.in === 'path' && { required: true }), // the generator takes what is read from a text for optional
    ...(parameter.description === undefined && typeof description === 'string' && { description }),
    ...(example !== undefined && { example: isText ? String(example) : example }),
    schema: isText ? INT64_TEXT : schema,
  };
}

function decorateOperation(
  operation: Operation,
  contract: DocumentedContract,
  about: VersionDescription,
  errors: ErrorResponses,
): Operation {
  const { deprecation, openapi, versions } = contract;
  const stability = versions[about.version] ?? 'stable';
  const { security: _, parameters = [], responses = {}, ...others } = operation;
  const described = parameters.map((parameter) => describeParameter(parameter, about.idsAreText));
  return {
    ...others,
    ...(stability !== 'stable' && { 'x-stability': stability }),
    ...(deprecation && {
      externalDocs: {
        description: 'Deprecated operations and their replacements.',
        url: PRODUCTION + DEPRECATION_GUIDE_PATH,
      },
      'x-sunset': sunsetDay(deprecation.sunsetAt), // as oasdiff and our check of compatibility read it
    }),
    // The document as a whole requires the key that all other operations need.
    ...(openapi.protect === false && { security: [] }),
    ...(described.length > 0 && { parameters: described }),
    responses: {
      ...describeSuccess(responses, contract),
      ...errors.describe(contract),
    },
  };
}

/** @throws Error if the version does not describe a tag of an operation */
function requireTags({ version, tags }: VersionDescription, operations: readonly Operation[]): void {
  const described = new Set(tags.map(({ name }) => name));
  for (const { operationId, tags: names = [] } of operations) {
    const missing = names.find((name) => !described.has(name));
    if (missing === undefined) continue;
    throw new Error(
      `${operationId} has the tag ${missing}: describe it for ${version} in packages/api/src/openapi/versions.ts.`,
    );
  }
}

/** The generator closes every schema of a response. Ours stay open: a new field must not break callers. */
function openSchemas(schemas: Schemas = {}): Schemas {
  const open = Object.entries(schemas).map(([name, schema]) => {
    const { additionalProperties: _, ...rest } = schema as Record<string, unknown>; // as above
    return [name, rest] as const;
  });
  return Object.fromEntries(open);
}

/** A version without a deprecated operation has no deprecation headers. */
const usedHeaders = (references: string): Headers =>
  Object.fromEntries(
    Object.entries(HEADER_COMPONENTS).filter(([name]) => references.includes(`"#/components/headers/${name}"`)),
  );

/**
 * Adds what the generator lacks: our errors and their schema, 204, headers, examples, tags with descriptions, servers,
 * stability.
 *
 * @param contracts the contracts by operationId
 * @throws Error if an operation has no contract, or a tag without description
 */
export function decorateDocument(
  document: OpenAPIObject,
  contracts: ReadonlyMap<string, DocumentedContract>,
  about: VersionDescription,
): OpenAPIObject {
  const errors = new ErrorResponses(about.version);
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => {
    // The generator's paths contain only operations.
    const operations = Object.entries(item as Record<string, Operation>).map(([method, operation]) => {
      const contract = contracts.get(operation.operationId ?? '');
      if (contract === undefined) throw new Error(`${method} ${path} belongs to no procedure.`);
      return [method, decorateOperation(operation, contract, about, errors)] as const;
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  requireTags(
    about,
    paths.flatMap(([, item]) => Object.values(item)),
  );
  const { schemas, securitySchemes } = document.components ?? {};
  const responses = errors.components;
  const allCodes = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // the catalogue's own keys
  const codes = allCodes.filter((code) => errors.codes.has(code));
  return {
    openapi: document.openapi,
    info: { ...document.info, contact: { name: 'The maintainers of Petstore Orders' } },
    externalDocs: {
      description: 'The interactive reference, with guides.',
      url: PRODUCTION + about.referencePath,
    },
    servers: describeServers(SERVERS.map(({ url, description }) => ({ url: `${url}/${about.version}`, description }))),
    security: SECURITY,
    tags: [...about.tags],
    ...(about.tagGroups && { 'x-tagGroups': about.tagGroups }),
    paths: Object.fromEntries(paths),
    components: {
      schemas: { ...openSchemas(schemas), Error: errorSchema(codes) },
      responses,
      headers: usedHeaders(JSON.stringify([paths, responses])),
      ...(securitySchemes && { securitySchemes }),
    },
  };
}
