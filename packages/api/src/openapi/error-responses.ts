import type { OpenAPIObject } from 'trpc-to-openapi';
import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import { headersOf } from './components.ts';

type Responses = NonNullable<NonNullable<OpenAPIObject['components']>['responses']>;
type Response = Responses[string];
type ErrorStatus = number | 'default';

/** What any operation may answer with, its own errors aside. */
const COMMON_CODES: readonly ErrorCode[] = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'api_key_banned',
  'internal_error',
  'service_unavailable',
  'overloaded',
];

/** What is wrong with a request before it is one for the operation. Codes that need a body cannot come: none is read. */
const OTHER_CODES: readonly ErrorCode[] = [
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
];

/** By status: what the component is called, and what the status means. */
const STATUSES: Readonly<Record<ErrorStatus, { readonly name: string; readonly description: string }>> = {
  400: { name: 'BadRequest', description: 'The request is not valid.' },
  401: { name: 'Unauthorized', description: 'Missing or invalid API key.' },
  404: { name: 'NotFound', description: 'The resource could not be found.' },
  409: { name: 'Conflict', description: 'The order is not pending any more.' },
  410: { name: 'Gone', description: 'The operation is past its sunset date.' },
  429: { name: 'TooManyRequests', description: 'Rate limit exceeded, or the API key is banned for a while.' },
  500: { name: 'InternalServerError', description: 'Something went wrong on our side.' },
  503: { name: 'ServiceUnavailable', description: 'The service cannot answer at the moment.' },
  default: { name: 'OtherError', description: 'Any other failure.' },
};

/** The answers to failures of all operations, those that several have in common as components. */
export class ErrorResponses {
  readonly components: Responses = {};

  /** The failures of one operation, by status. */
  describe(ownCodes: readonly ErrorCode[], isDeprecated: boolean): Responses {
    const byStatus = Map.groupBy([...COMMON_CODES, ...ownCodes], (code) => ERROR_CATALOGUE[code].status);
    const statuses = [...byStatus].sort(([one], [other]) => one - other);
    return {
      ...Object.fromEntries(statuses.map(([status, codes]) => [status, this.#describe(status, codes, isDeprecated)])),
      default: this.#describe('default', OTHER_CODES, isDeprecated),
    };
  }

  #describe(status: ErrorStatus, codes: readonly ErrorCode[], isDeprecated: boolean): Response {
    const about = STATUSES[status];
    if (about === undefined) throw new Error(`Say in STATUSES what ${status} means.`);
    const response = {
      description: about.description,
      headers: headersOf(status, isDeprecated),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples: examplesOf(codes) } },
    };
    const isCommon = status === 'default' || codes.every((code) => COMMON_CODES.includes(code));
    if (!isCommon) return response;
    const name = `${isDeprecated ? 'Deprecated' : ''}${about.name}`;
    this.components[name] = response;
    return { $ref: `#/components/responses/${name}` };
  }
}

function examplesOf(codes: readonly ErrorCode[]) {
  const examples = codes.map((code) => {
    const { message, status } = ERROR_CATALOGUE[code];
    return [code, { summary: message, value: { code, message, status } }] as const;
  });
  return Object.fromEntries(examples);
}
