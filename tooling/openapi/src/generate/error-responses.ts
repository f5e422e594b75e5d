import { STATUS_CODES } from 'node:http';
import {
  type ApiVersion,
  codeIn,
  type DocumentedContract,
  ERROR_CATALOGUE,
  type ErrorCode,
  INTERNAL_ONLY,
} from '@petstore/api';
import type { OpenAPIObject } from 'trpc-to-openapi';
import { errorObject, errorSchemaOf, headersOf } from './components.ts';

type Responses = NonNullable<NonNullable<OpenAPIObject['components']>['responses']>;
type Response = Responses[string];
type ErrorObject = ReturnType<typeof errorObject>;
type ErrorStatus = number | 'default';

/** The errors of any operation, apart from its own. */
const COMMON_CODES: readonly ErrorCode[] = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'too_many_in_flight',
  'api_key_banned',
  'internal_error',
  'service_unavailable',
  'overloaded',
];

/** Errors of a request before it reaches an operation. Codes of bodies cannot occur, because no body is read. */
const OTHER_CODES: readonly ErrorCode[] = [
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
];

/**
 * By status, the name of the component and the meaning of the status, for those of any operation. The others are described
 * by their errors.
 */
const STATUSES: Readonly<Record<ErrorStatus, { readonly name: string; readonly description: string }>> = {
  400: { name: 'BadRequest', description: 'The request is not valid.' },
  401: { name: 'Unauthorized', description: 'Missing or invalid API key.' },
  403: { name: 'Forbidden', description: 'The API key is read-only.' },
  404: { name: 'NotFound', description: 'The resource could not be found.' },
  429: {
    name: 'TooManyRequests',
    description: 'Rate limit exceeded, too many requests in flight, or the API key is temporarily banned.',
  },
  500: { name: 'InternalServerError', description: 'An internal error occurred.' },
  503: { name: 'ServiceUnavailable', description: 'The service is temporarily unavailable.' },
  default: { name: 'OtherError', description: 'Any other failure, before the request reaches an operation.' },
};

/** The error responses of all operations of a version. Those that several operations share are components. */
export class ErrorResponses {
  readonly #version: ApiVersion;
  readonly components: Responses = {};
  /** All codes described so far. */
  readonly codes = new Set<ErrorCode>();

  constructor(version: ApiVersion) {
    this.#version = version;
  }

  /** The error responses of one operation, by status. */
  describe({ type, access, rest, deprecation }: DocumentedContract): Responses {
    const { errors, invalidRequest } = rest;
    const messages: Partial<Record<ErrorCode, string | undefined>> = {
      invalid_request: invalidRequest,
      insufficient_scope: access === 'internal' ? INTERNAL_ONLY : undefined,
    };
    const ofKeys: readonly ErrorCode[] = type === 'mutation' || access === 'internal' ? ['insufficient_scope'] : [];
    const isDeprecated = deprecation !== undefined;
    const own = errors.map((code) => codeIn(this.#version, code));
    const codesOf = new Set([...COMMON_CODES, ...ofKeys, ...own]); // in v1, some of its own may be one
    const byStatus = Map.groupBy(codesOf, (code) => ERROR_CATALOGUE[code].status);
    // If the operation has a response of that status, generated clients read it.
    for (const code of OTHER_CODES) byStatus.get(ERROR_CATALOGUE[code].status)?.push(code);
    const statuses = [...byStatus].sort(([one], [other]) => one - other);
    return {
      ...Object.fromEntries(
        statuses.map(([status, codes]) => {
          const shown = codes.map((code) => errorObject(code, messages[code]));
          return [status, this.#describe(status, shown, isDeprecated)];
        }),
      ),
      default: this.#describe(
        'default',
        OTHER_CODES.map((code) => errorObject(code)),
        isDeprecated,
      ),
    };
  }

  #describe(status: ErrorStatus, shown: readonly ErrorObject[], isDeprecated: boolean): Response {
    const about = STATUSES[status];
    for (const { code } of shown) this.codes.add(code);
    const response = {
      description: meaningOf(shown) ?? about?.description ?? STATUS_CODES[status] ?? '',
      headers: headersOf(status, isDeprecated),
      content: {
        'application/json': { schema: errorSchemaOf(shown.map(({ code }) => code)), examples: examplesOf(shown) },
      },
    };
    if (about === undefined || (status !== 'default' && !shown.every(isCommon))) return response;
    const name = `${isDeprecated ? 'Deprecated' : ''}${about.name}`;
    this.components[name] = response;
    return { $ref: `#/components/responses/${name}` };
  }
}

/** The meaning that all errors of a response have, where it is not that of the status. */
function meaningOf(shown: readonly ErrorObject[]): string | undefined {
  if (shown.some(({ message }) => message === INTERNAL_ONLY)) return 'The API key is not internal, or it is read-only.';
  const meanings = new Set(shown.map(({ code }) => ERROR_CATALOGUE[code].response));
  return meanings.size === 1 ? [...meanings][0] : undefined;
}

/** Whether any operation may respond with this code and this message. */
const isCommon = ({ code, message }: ErrorObject): boolean =>
  COMMON_CODES.includes(code) && message === ERROR_CATALOGUE[code].message;

/** The message for a typical wrong input is too special for a summary. */
const summaryOf = ({ code, message }: ErrorObject): string =>
  code === 'invalid_request' ? ERROR_CATALOGUE[code].message : message;

const examplesOf = (shown: readonly ErrorObject[]) =>
  Object.fromEntries(shown.map((value) => [value.code, { summary: summaryOf(value), value }]));
