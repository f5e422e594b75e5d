import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import { breaks, type Cause, type NotKeptError, NotSeenError, type Promised } from './findings.ts';
import { type Answer, describe, type Installation, type Sent } from './installation.ts';

/** A request, and how the service answers it. */
interface Expectation extends Sent {
  readonly check: string;
  /** See {@link Installation.ask}. */
  readonly request: string;
  /** See {@link Answer.outcome}. */
  readonly outcomes: readonly string[];
  /** The headers of the answer. */
  readonly tells?: readonly string[];
  /** A part of the answer's text. */
  readonly holds?: string;
  /** The usual cause of another success. @default answers */
  readonly cause?: Cause;
}

export const LIST_PATH = '/v1/store/orders';
export const GET_LIST = `GET ${LIST_PATH}`;
/** No text of this form is a key: it is refused without a look-up. */
export const WRONG_KEY = 'not-a-key';
/** No order can have this id: whatever a proxy does to the request, nothing can be cancelled by it. */
const NO_ID = 'not-an-id';
/** A key that may only read is told so before anything is said of what it would change. */
const READ_ONLY = '403 insufficient_scope';
/** More than tRPC's 64 kB. */
const LARGE_BODY = ' '.repeat(70_000);
/** Retry-After comes with refusals only. */
const LIMIT_HEADERS = RATE_LIMIT_HEADERS.filter((name) => name !== 'Retry-After');
const TOLD = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', ...LIMIT_HEADERS];

/** A request without a key. */
const REFUSED = { request: GET_LIST, outcomes: ['401 missing_api_key'] };
/** Its media type is not supported. */
const CANCEL_NONE = { request: 'POST /trpc/orders.cancel', body: NO_ID, headers: { 'content-type': 'text/plain' } };

/** What shows that the service answers. */
export const IDENTIFYING: readonly Expectation[] = [
  {
    check: 'the OpenAPI document needs no key',
    request: 'GET /v1/openapi.json',
    outcomes: ['200'],
    holds: '"/store/orders"',
  },
  { check: 'the Error object refuses a request without a key', ...REFUSED, tells: ['WWW-Authenticate'] },
];

/** What can be seen without a key. */
export const WITHOUT_KEY: readonly Expectation[] = [
  { check: 'the document is there as YAML', request: 'GET /v1/openapi.yaml', outcomes: ['200'], holds: 'openapi:' },
  {
    check: 'the reference is a page',
    request: 'GET /docs',
    headers: { accept: 'text/html' },
    outcomes: ['200'],
    holds: '<html',
  },
  { check: 'the headers of an answer arrive, and tell the limits', ...REFUSED, tells: TOLD },
  { check: 'Authorization reaches the service', request: GET_LIST, key: WRONG_KEY, outcomes: ['401 invalid_api_key'] },
];

/** What a key of any kind and plan shows. */
export const WITH_KEY: readonly Expectation[] = [
  {
    check: 'HEAD is answered',
    request: `HEAD ${LIST_PATH}`,
    outcomes: ['200'],
    tells: ['Content-Type', ...LIMIT_HEADERS],
  },
  { check: 'OPTIONS is answered', request: `OPTIONS ${LIST_PATH}`, outcomes: ['204'], tells: ['Allow'] },
  {
    check: 'DELETE reaches the service',
    request: `DELETE ${LIST_PATH}/${NO_ID}`,
    outcomes: ['400 invalid_request', READ_ONLY],
  },
  {
    check: 'an unknown method is refused',
    request: `POST ${LIST_PATH}`,
    outcomes: ['405 method_not_allowed'],
    tells: ['Allow'],
  },
  { check: 'an unknown path is refused', request: 'GET /v1/none', outcomes: ['404 route_not_found'] },
  {
    check: 'the look-up of pets is announced as deprecated',
    request: 'GET /v1/pets/-9223372036854775808',
    outcomes: ['404 pet_not_found', '410 operation_sunset', '200'],
    tells: ['Deprecation', 'Sunset', 'Link'],
  },
  { check: 'tRPC refuses another type of body', ...CANCEL_NONE, outcomes: ['415 unsupported_media_type'] },
  {
    check: 'tRPC refuses a large body',
    ...CANCEL_NONE,
    body: LARGE_BODY,
    headers: { 'content-type': 'application/json' },
    outcomes: ['413 payload_too_large'],
  },
  ...['/v1//store/orders', '/v1/store%2Forders', '/v1/store/orders/'].map(
    (path): Expectation => ({
      check: `${path} is another path`,
      request: `HEAD ${path}`,
      outcomes: ['404'],
      cause: 'paths',
    }),
  ),
];

/** Sends the request when it is looked at. */
export const promiseOf = (at: Installation, expectation: Expectation, key = expectation.key): Promised => ({
  check: expectation.check,
  async look() {
    const { request, outcomes, holds = '', cause, tells = [] } = expectation;
    const answer = await at.ask(request, { ...expectation, key });
    expectOutcome(answer, outcomes, cause);
    if (!answer.text.includes(holds)) throw breaks(`${describe(answer)}, without ${holds}`, 'answers');
    expectHeaders(answer, tells);
    return answer.outcome;
  },
});

/**
 * @param cause of a success that should be none, or should be another
 * @throws NotKeptError
 * @throws NotSeenError if a limit is used up
 */
export function expectOutcome(answer: Answer, outcomes: readonly string[], cause?: Cause): void {
  const { outcome } = answer;
  if (!outcomes.includes(outcome)) throw refusalBy(outcome, `${describe(answer)}, not ${outcomes.join(' or ')}`, cause);
}

/** The error that an outcome is, which should be another. @param cause of a success */
export function refusalBy(outcome: string, seen = outcome, cause: Cause = 'answers'): NotKeptError | NotSeenError {
  // Without a body, as in an answer to HEAD, it is the status alone.
  if (outcome.startsWith('429')) return new NotSeenError(`${outcome}: repeat the check when the limit is free again`);
  return breaks(seen, causeOf(outcome) ?? cause);
}

/** The usual cause of a failure that should be none, or should be another. */
function causeOf(outcome: string): Cause | undefined {
  if (/^(?:2|304)/.test(outcome)) return undefined;
  // Requests that should not be refused for it had a key.
  if (outcome === '401 missing_api_key') return 'authorization';
  if (outcome === '401 invalid_api_key') return 'key';
  if (!outcome.includes(' ')) return 'answers';
  // Else the service has answered another request than was sent.
  return outcome.startsWith('5') ? 'service' : 'paths';
}

/** @throws NotKeptError */
export function expectHeaders({ headers }: Answer, names: readonly string[]): void {
  const missing = names.filter((name) => !headers.has(name));
  if (missing.length > 0) throw breaks(`without ${missing.join(', ')}`, 'headers');
}
