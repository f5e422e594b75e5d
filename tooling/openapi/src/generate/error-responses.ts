import { type DocumentedContract, ERROR_CATALOGUE, type ErrorCode, INTERNAL_ONLY } from '@petstore/api';
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

/** By status: the name of the component, and the meaning of the status. */
const STATUSES: Readonly<Record<ErrorStatus, { readonly name: string; readonly description: string }>> = {
  400: { name: 'BadRequest', description: 'The request is not valid.' },
  401: { name: 'Unauthorized', description: 'Missing or invalid API key.' },
  403: { name: 'Forbidden', description: 'The API key is read-only.' },
  404: { name: 'NotFound', description: 'The resource could not be found.' },
  409: { name: 'Conflict', description: 'The order is no longer pending.' },
  410: { name: 'Gone', description: 'The operation is past its sunset date.' },
  429: {
    name: 'TooManyRequests',
    description: 'Rate limit exceeded, too many requests in flight, or the API key is temporarily banned.',
  },
  500: { name: 'InternalServerError', description: 'An internal error occurred.' },
  503: { name: 'ServiceUnavailable', description: 'The service is temporarily unavailable.' },
  default: { name: 'OtherError', description: 'Any other failure, before the request reaches an operation.' },
};

/** The meaning of a response of one error, by its message, where it is not that of the status. */
const MEANINGS: Readonly<Record<string, string>> = {
  [ERROR_CATALOGUE.events_expired.message]: 'Events after the position have expired.',
  [INTERNAL_ONLY]: 'The API key is not internal, or it is read-only.',
};

/** The error responses of all operations. Those that several operations share are components. */
export class ErrorResponses {
  readonly components: Responses = {};
  /** All codes described so far. */
  readonly codes = new Set<ErrorCode>();

  /** The error responses of one operation, by status. */
  describe({ type, access, rest, deprecation }: DocumentedContract): Responses {
    const { errors, invalidRequest } = rest;
    const messages: Partial<Record<ErrorCode, string | undefined>> = {
      invalid_request: invalidRequest,
      insufficient_scope: access === 'internal' ? INTERNAL_ONLY : undefined,
    };
    const ofKeys: readonly ErrorCode[] = type === 'mutation' || access === 'internal' ? ['insufficient_scope'] : [];
    const isDeprecated = deprecation !== undefined;
    const byStatus = Map.groupBy([...COMMON_CODES, ...ofKeys, ...errors], (code) => ERROR_CATALOGUE[code].status);
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
    if (about === undefined) throw new Error(`Say in STATUSES what ${status} means.`);
    for (const { code } of shown) this.codes.add(code);
    const [first, ...others] = shown;
    const ownMeaning = first && others.length === 0 ? MEANINGS[first.message] : undefined;
    const response = {
      description: ownMeaning ?? about.description,
      headers: headersOf(status, isDeprecated),
      content: {
        'application/json': { schema: errorSchemaOf(shown.map(({ code }) => code)), examples: examplesOf(shown) },
      },
    };
    if (status !== 'default' && !shown.every(isCommon)) return response;
    const name = `${isDeprecated ? 'Deprecated' : ''}${about.name}`;
    this.components[name] = response;
    return { $ref: `#/components/responses/${name}` };
  }
}

/** Whether any operation may respond with this code and this message. */
const isCommon = ({ code, message }: ErrorObject): boolean =>
  COMMON_CODES.includes(code) && message === ERROR_CATALOGUE[code].message;

/** The message for a typical wrong input is too special for a summary. */
const summaryOf = ({ code, message }: ErrorObject): string =>
  code === 'invalid_request' ? ERROR_CATALOGUE[code].message : message;

const examplesOf = (shown: readonly ErrorObject[]) =>
  Object.fromEntries(shown.map((value) => [value.code, { summary: summaryOf(value), value }]));
