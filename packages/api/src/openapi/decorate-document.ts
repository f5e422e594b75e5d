import type { OpenAPIObject } from 'trpc-to-openapi';
import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import type { ProcedureMeta, RestContract } from '../rest/rest-contract.ts';
import { ERROR_SCHEMA, HEADERS, headersOf, SECURITY_SCHEME, TAGS } from './components.ts';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type PathItem = NonNullable<OpenAPIObject['paths']>[string];
type Operation = NonNullable<PathItem['get']>;
type Responses = NonNullable<Operation['responses']>;
type Response = Responses[string];

/** What any operation may answer with, its own errors aside. */
const COMMON_CODES: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'api_key_banned',
  'internal_error',
  'service_unavailable',
  'overloaded',
];

const DESCRIPTION_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'Missing or invalid API key.',
  404: 'The resource could not be found.',
  409: 'The order is not pending any more.',
  410: 'The operation is past its sunset date.',
  429: 'Rate limit exceeded, or the API key is banned for a while.',
  500: 'Something went wrong on our side.',
  503: 'The service cannot answer at the moment.',
};

const ERROR_REF = { $ref: '#/components/schemas/Error' };

function describeErrors(status: number, codes: readonly ErrorCode[], deprecated: boolean): Response {
  const description = DESCRIPTION_OF_STATUS[status];
  if (description === undefined) throw new Error(`Say in DESCRIPTION_OF_STATUS what ${status} means.`);
  const examples = codes.map((code) => {
    const { message } = ERROR_CATALOGUE[code];
    return [code, { summary: message, value: { code, message, status } }] as const;
  });
  return {
    description,
    headers: headersOf(status, deprecated),
    content: { 'application/json': { schema: ERROR_REF, examples: Object.fromEntries(examples) } },
  };
}

function describeResponses(generated: Responses, rest: RestContract, hasParameters: boolean): Responses {
  const deprecated = rest.deprecatedAt !== undefined;
  const { description, content } = generated['200'];
  const success =
    rest.response === undefined
      ? { 204: { description, headers: headersOf(204, deprecated) } }
      : { 200: { description, headers: headersOf(200, deprecated), content } };
  const codes = [...(hasParameters ? (['invalid_request'] as const) : []), ...rest.errors, ...COMMON_CODES];
  const byStatus = Map.groupBy(codes, (code) => ERROR_CATALOGUE[code].status);
  return {
    ...success,
    ...Object.fromEntries(Array.from(byStatus, ([status, c]) => [status, describeErrors(status, c, deprecated)])),
    default: {
      description: 'Any other failure.',
      headers: headersOf('default', deprecated),
      content: { 'application/json': { schema: ERROR_REF } },
    },
  };
}

function decorateOperation(operation: Operation, { rest, stability = 'stable' }: ProcedureMeta): Operation {
  if (rest === undefined) throw new Error(`${operation.operationId} has no meta.rest.`);
  const hasParameters = (operation.parameters ?? []).length > 0;
  return {
    ...operation,
    ...(stability !== 'stable' && { 'x-stability': stability }),
    responses: describeResponses(operation.responses ?? {}, rest, hasParameters),
  };
}

/** The generator closes every schema of an answer; ours stay open, so that a new field breaks no caller. */
function openSchemas(schemas: Schemas = {}): Schemas {
  const open = Object.entries(schemas).map(([name, schema]) => {
    const { additionalProperties: _, ...rest } = schema as Record<string, unknown>;
    return [name, rest] as const;
  });
  return Object.fromEntries(open);
}

/**
 * Adds what the generator does not know: our errors and their schema, 204, headers, tags with descriptions, stability.
 *
 * @param metaOfOperation by operationId
 */
export function decorateDocument(
  document: OpenAPIObject,
  metaOfOperation: ReadonlyMap<string, ProcedureMeta>,
): OpenAPIObject {
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => {
    const operations = Object.entries(item as Record<string, Operation>).map(([method, operation]) => {
      const meta = metaOfOperation.get(operation.operationId ?? '');
      if (meta === undefined) throw new Error(`${method} ${path} belongs to no procedure.`);
      return [method, decorateOperation(operation, meta)] as const;
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  return {
    ...document,
    security: [{ [SECURITY_SCHEME]: [] }],
    tags: TAGS,
    paths: Object.fromEntries(paths),
    components: {
      ...document.components,
      schemas: { ...openSchemas(document.components?.schemas), Error: ERROR_SCHEMA },
      headers: HEADERS,
    },
  };
}
