import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import { breaks, type Cause, NotSeenError, type Promised } from './findings.ts';
import { type Answer, describe, type Installation, type Question } from './installation.ts';

/** A request, and how the service answers it. */
interface Expectation extends Question {
  readonly check: string;
  /** See {@link Answer.outcome}. */
  readonly outcomes: readonly string[];
  readonly holds?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answerHeaders?: readonly string[];
  /** The usual cause of another success. @default answers */
  readonly cause?: Cause;
}

export const LIST_PATH = '/v1/store/orders';
/** No text of this form is a key: it is refused without a look-up. */
export const WRONG_KEY = 'not-a-key';
/** No order can have this id: whatever a proxy does to the request, nothing can be cancelled by it. */
const NO_ID = 'not-an-id';
/** More than tRPC's 64 kB. */
const LARGE_BODY = ' '.repeat(70_000);
/** Retry-After comes with refusals only. */
export const LIMIT_HEADERS = RATE_LIMIT_HEADERS.filter((name) => name !== 'Retry-After');

/** What shows that the service answers. */
export const IDENTIFYING: readonly Expectation[] = [
  {
    check: 'the OpenAPI document needs no key',
    path: '/v1/openapi.json',
    outcomes: ['200'],
    holds: '"/store/orders"',
    cause: 'paths',
  },
  {
    check: 'a request without a key is refused, with the Error object',
    path: LIST_PATH,
    outcomes: ['401 missing_api_key'],
    answerHeaders: ['WWW-Authenticate'],
  },
];

/** What can be seen without a key. */
export const WITHOUT_KEY: readonly Expectation[] = [
  {
    check: 'the document is there as YAML',
    path: '/v1/openapi.yaml',
    outcomes: ['200'],
    holds: 'openapi:',
    cause: 'paths',
  },
  {
    check: 'the reference is a page for browsers',
    path: '/docs',
    headers: { accept: 'text/html' },
    outcomes: ['200'],
    holds: '<html',
    cause: 'paths',
  },
  {
    check: 'the headers of an answer arrive, and tell the limits',
    path: LIST_PATH,
    outcomes: ['401 missing_api_key'],
    answerHeaders: ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', ...LIMIT_HEADERS],
  },
  {
    check: 'Authorization reaches the service: a wrong key is refused as such',
    path: LIST_PATH,
    key: WRONG_KEY,
    outcomes: ['401 invalid_api_key'],
  },
];

/** What a key of any kind and plan shows. */
export const WITH_KEY: readonly Expectation[] = [
  {
    check: 'HEAD is answered as GET, without a body',
    path: LIST_PATH,
    method: 'HEAD',
    outcomes: ['200'],
    answerHeaders: ['Content-Type', ...LIMIT_HEADERS],
  },
  { check: 'OPTIONS is answered', path: LIST_PATH, method: 'OPTIONS', outcomes: ['204'], answerHeaders: ['Allow'] },
  {
    check: 'DELETE reaches the service, which refuses what is no id',
    path: `${LIST_PATH}/${NO_ID}`,
    method: 'DELETE',
    // A key that may only read is told so first.
    outcomes: ['400 invalid_request', '403 insufficient_scope'],
  },
  {
    check: 'a method that does not exist is refused, with those that do',
    path: LIST_PATH,
    method: 'POST',
    outcomes: ['405 method_not_allowed'],
    answerHeaders: ['Allow'],
  },
  { check: 'an unknown path is refused', path: '/v1/none', outcomes: ['404 route_not_found'] },
  {
    check: 'the deprecated look-up of pets is announced as such',
    path: '/v1/pets/-9223372036854775808',
    outcomes: ['404 pet_not_found', '410 operation_sunset', '200'],
    answerHeaders: ['Deprecation', 'Sunset', 'Link'],
  },
  {
    check: 'tRPC refuses another type of body',
    path: '/trpc/orders.cancel',
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: NO_ID,
    outcomes: ['415 unsupported_media_type'],
  },
  {
    check: 'tRPC refuses a large body',
    path: '/trpc/orders.cancel',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: LARGE_BODY,
    outcomes: ['413 payload_too_large'],
  },
  ...['/v1//store/orders', '/v1/store%2Forders', '/v1/store/orders/'].map(
    (path): Expectation => ({
      check: `${path} is another path`,
      path,
      method: 'HEAD',
      outcomes: ['404'],
      cause: 'paths',
    }),
  ),
];

/** Sends the request when it is looked at. */
export const promiseOf = (at: Installation, expectation: Expectation): Promised => ({
  check: expectation.check,
  async look() {
    const answer = await at.ask(expectation);
    const { outcomes, holds = '', cause, answerHeaders = [] } = expectation;
    expectOutcome(answer, outcomes, cause);
    if (!answer.text.includes(holds)) throw breaks(`${describe(answer)}, without ${holds}`, 'answers');
    expectHeaders(answer, answerHeaders);
    return answer.outcome;
  },
});

/**
 * @param cause of a success that should be none, or should be another
 * @throws NotKeptError
 * @throws NotSeenError if a limit is used up
 */
export function expectOutcome(answer: Answer, outcomes: readonly string[], cause: Cause = 'answers'): void {
  const { outcome } = answer;
  if (outcomes.includes(outcome)) return;
  if (/^429 /.test(outcome)) throw new NotSeenError(`${outcome}: repeat the check when the limit is free again`);
  throw breaks(`${describe(answer)}, not ${outcomes.join(' or ')}`, causeOf(outcome) ?? cause);
}

/** The usual cause of a failure that should be none, or should be another. */
export function causeOf(outcome: string): Cause | undefined {
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
