import { randomInt } from 'node:crypto';
import { createPetstoreRestClient, type Order, PetstoreError } from '@petstore/client/rest';
import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import {
  type Answer,
  ask,
  CheckFailedError,
  describe,
  describeFailure,
  InconclusiveError,
  type RequestOptions,
  readAnswer,
  send,
} from './ask.ts';

/** A promise of an installation, and how to see whether it is kept. */
export interface Check {
  readonly check: string;
  /** Whether it can be seen with a key only. */
  readonly needsKey: boolean;
  /** What else is then known: that the service itself answers, or that it accepts the key. @default nothing */
  readonly proves?: 'service' | 'key' | undefined;
  /** @returns what was seen. @throws CheckFailedError, InconclusiveError */
  readonly run: (url: string, key?: string) => Promise<string>;
}

/** What a request has besides its method and path, and its answer besides the outcome. */
interface Details extends RequestOptions, Pick<Check, 'proves'> {
  /** The headers that the answer must have, with any value. */
  readonly requiredHeaders?: readonly string[];
  /** The values that headers of the answer must have, because the service sends them so; `null`: it sends none. */
  readonly headerValues?: Readonly<Record<string, string | null>>;
  /** The text that the answer must contain. */
  readonly requiredText?: string;
  /** Checks the answer further, perhaps by more requests. @returns what was seen */
  readonly continueWith?: (answer: Answer, url: string, key?: string) => string | Promise<string>;
}

const LIST = '/v1/store/orders';
const GET_LIST = `GET ${LIST}`;
const DOCUMENT = 'GET /v1/openapi.json';
const CANCEL = 'POST /trpc/orders.cancel';
const NO_KEY = '401 missing_api_key';
/** No text of this form is a key: it is refused without a look-up. */
const WRONG_KEY = 'not-a-key';
/** No order can have this id: nothing can be cancelled by it, in whatever way a proxy changes the request. */
const NO_ID = 'not-an-id';
/** More than tRPC's 64 kB. */
const LARGE_BODY = ' '.repeat(70_000);
const JSON_TYPE = { 'content-type': 'application/json' };
/** Retry-After comes with refusals only. */
const LIMITS = RATE_LIMIT_HEADERS.filter((name) => name !== 'Retry-After');

/**
 * Makes checks by one request and its answer.
 *
 * @param needsKey whether the request has the key
 */
const byRequest =
  (needsKey: boolean) =>
  /** @param outcome see {@link Answer.outcome}; `|` stands between several */
  (check: string, methodAndPath: string, outcome: string, details: Details = {}): Check => {
    const { proves, requiredHeaders = [], headerValues = {}, requiredText = '', continueWith, ...request } = details;
    const run: Check['run'] = async (url, key) => {
      const answer = await ask(url, methodAndPath, { ...(needsKey && { key }), ...request });
      expectOutcome(answer, outcome);
      if (!answer.text.includes(requiredText))
        throw new CheckFailedError(`${describe(answer)}, without ${requiredText}`);
      const missing = requiredHeaders.filter((name) => !answer.headers.has(name));
      if (missing.length > 0) throw new CheckFailedError(`without ${missing.join(', ')}`);
      for (const [name, value] of Object.entries(headerValues)) {
        const received = answer.headers.get(name);
        if (received !== value)
          throw new CheckFailedError(`${name} is ${received}, and the service sent ${value ?? 'none'}`);
      }
      if (continueWith !== undefined) return continueWith(answer, url, key);
      return Object.entries(headerValues).map(([name, value]) => value ?? `no ${name}`)[0] ?? answer.outcome;
    };
    return { check, needsKey, proves, run };
  };

const open = byRequest(false);
const keyed = byRequest(true);

/** All checks, in their order. Nothing that they send changes anything. */
export const CHECKS: readonly Check[] = [
  open('the OpenAPI document needs no key', DOCUMENT, '200', { proves: 'service', requiredText: '"/store/orders"' }),
  open('the Error object refuses a request without a key', GET_LIST, NO_KEY, {
    proves: 'service',
    requiredHeaders: ['WWW-Authenticate'],
  }),
  open('the document is there as YAML', 'GET /v1/openapi.yaml', '200', { requiredText: 'openapi:' }),
  open('the reference is a page', 'GET /docs', '200', { requiredText: '<html', headers: { accept: 'text/html' } }),
  open('the headers of an answer arrive, and tell the limits', GET_LIST, NO_KEY, {
    requiredHeaders: ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', ...LIMITS],
  }),
  open('Authorization reaches the service', GET_LIST, '401 invalid_api_key', { key: WRONG_KEY }),
  open('a document that is known already is 304', DOCUMENT, '200', {
    requiredHeaders: ['ETag'],
    continueWith: askAgain,
  }),
  open('browsers of other origins get no permission to read', GET_LIST, NO_KEY, {
    headers: { origin: 'https://other.invalid' },
    headerValues: { 'Access-Control-Allow-Origin': null },
  }),
  open('no caller chooses its address by X-Forwarded-For', GET_LIST, NO_KEY, { continueWith: compareAddresses }),
  keyed('the key is accepted, and its limits are told', 'GET /trpc/limits.current', '200', {
    proves: 'key',
    continueWith: compareLimits,
  }),
  keyed('HEAD is answered', `HEAD ${LIST}`, '200', { requiredHeaders: ['Content-Type', ...LIMITS] }),
  keyed('OPTIONS is answered', `OPTIONS ${LIST}`, '204', { requiredHeaders: ['Allow'] }),
  // A key that may only read is told so before anything is said of what it would change.
  keyed('DELETE reaches the service', `DELETE ${LIST}/${NO_ID}`, '400 invalid_request|403 insufficient_scope'),
  keyed('an unknown method is refused', `POST ${LIST}`, '405 method_not_allowed', { requiredHeaders: ['Allow'] }),
  keyed('an unknown path is refused', 'GET /v1/none', '404 route_not_found'),
  keyed(
    'the look-up of pets is announced as deprecated',
    'GET /v1/pets/-9223372036854775808',
    '404 pet_not_found|410 operation_sunset|200',
    { requiredHeaders: ['Deprecation', 'Sunset', 'Link'] },
  ),
  keyed('tRPC refuses another type of body', CANCEL, '415 unsupported_media_type', {
    headers: { 'content-type': 'text/plain' },
    body: NO_ID,
  }),
  keyed('tRPC refuses a large body', CANCEL, '413 payload_too_large', { headers: JSON_TYPE, body: LARGE_BODY }),
  ...['/v1//store/orders', '/v1/store%2Forders', '/v1/store/orders/'].map((path) =>
    keyed(`${path} is another path`, `HEAD ${path}`, '404'),
  ),
  { check: 'the list arrives whole, with all digits of its ids', needsKey: true, run: readList },
  keyed('the list says that nobody may keep it', `HEAD ${LIST}`, '200', {
    headerValues: { 'Cache-Control': 'no-store' },
  }),
  // After the list, which a cache may keep.
  { ...open('the list is for nobody without a key', GET_LIST, NO_KEY), needsKey: true },
  { check: 'an event arrives when it is sent', needsKey: true, run: awaitEvent },
];

function expectOutcome(answer: Answer, expected: string): void {
  const { outcome } = answer;
  if (expected.split('|').includes(outcome)) return;
  // An answer without a body, as that to HEAD, has the status alone.
  if (outcome.startsWith('429'))
    throw new InconclusiveError(`${outcome}: repeat the check when the limit is free again`);
  const isRefusedKey = outcome === '401 invalid_api_key';
  const hint = isRefusedKey ? ' (the key was revoked, has expired or belongs to another installation)' : '';
  throw new CheckFailedError(`${describe(answer)}${hint}, not ${expected.replaceAll('|', ' or ')}`);
}

async function askAgain({ headers }: Answer, url: string): Promise<string> {
  const again = await ask(url, DOCUMENT, { headers: { 'if-none-match': headers.get('etag') ?? '' } });
  expectOutcome(again, '304');
  return again.outcome;
}

/**
 * Callers without a key are counted by their address, and to one that was never seen the answer is that all but one
 * request remain. The made-up addresses are reserved for documents (RFC 3849): nobody is counted in vain.
 */
async function compareAddresses(own: Answer, url: string): Promise<string> {
  const randomPart = () => randomInt(0x1_0000).toString(16);
  const askAsMadeUp = () =>
    ask(url, GET_LIST, { headers: { 'x-forwarded-for': `2001:db8:${randomPart()}:${randomPart()}::1` } });
  const counts = [own, await askAsMadeUp(), await askAsMadeUp()].map(({ headers }) => ({
    limit: Number(headers.get('x-ratelimit-limit') ?? Number.NaN),
    remaining: Number(headers.get('x-ratelimit-remaining') ?? Number.NaN),
  }));
  if (counts.some(({ remaining }) => Number.isNaN(remaining)))
    throw new InconclusiveError('no answer tells what remains');
  const [{ remaining: left = 0 } = {}, ...madeUp] = counts;
  const isNew = madeUp.every(({ limit, remaining }) => remaining === limit - 1 && remaining > left);
  if (isNew) throw new CheckFailedError('two made-up addresses had limits of their own');
  return 'made-up addresses count for the real one';
}

async function compareLimits({ text }: Answer, url: string, key?: string): Promise<string> {
  const { minute, day } = JSON.parse(text).result.data.json;
  const { headers } = await ask(url, `HEAD ${LIST}`, { key });
  const told = headers.get('x-ratelimit-limit');
  const limits = `${minute.limit} requests a minute, ${day.limit} a day`;
  if ([minute.limit, day.limit].some((limit) => told === `${limit}`)) return limits;
  throw new CheckFailedError(`X-RateLimit-Limit is ${told}, for ${limits}`);
}

/** Reads the list as callers do, and compares one order with the same one of v2, where ids are texts. */
async function readList(url: string, apiKey = ''): Promise<string> {
  let count = 0;
  let last: Order | undefined;
  let big: Order | undefined;
  try {
    for await (const order of createPetstoreRestClient({ baseUrl: url, apiKey, maxRetries: 0 }).listOrders()) {
      if (last?.id !== undefined && order.id !== undefined && order.id <= last.id) {
        throw new CheckFailedError(`order ${order.id} comes after order ${last.id}`);
      }
      if ([order.id, order.petId].some((id) => !Number.isSafeInteger(Number(id)))) big ??= order;
      last = order;
      count++;
    }
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    const { status, code } = error;
    if (status === 429) throw new InconclusiveError(`${status} ${code}: repeat the check when the limit is free again`);
    throw new CheckFailedError(`no whole list: ${status ?? describeFailure(error)} ${code}`, { cause: error });
  }
  if (big === undefined) return `${count} orders, none with an id or petId above 2^53`;
  const { text } = await ask(url, `GET /v2/store/orders/${big.id}`, { key: apiKey });
  if (text.includes(`"petId":"${big.petId}"`)) return `${count} orders, and all digits of order ${big.id}`;
  throw new CheckFailedError(`order ${big.id} of pet ${big.petId} is listed, and is not there: digits were rounded`);
}

const FIRST_EVENT_MAX_MS = 5_000;

/** The service sends two messages at once, tRPC's and its own: where events begin, or that the key may not follow them. */
async function awaitEvent(url: string, key?: string): Promise<string> {
  const follow = `GET /trpc/orders.events?input=${encodeURIComponent('{"json":{}}')}`;
  const response = await send(url, follow, { key }, FIRST_EVENT_MAX_MS);
  if (response.status !== 200) expectOutcome(await readAnswer(response), '200');
  let text = '';
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes('insufficient_scope')) throw new InconclusiveError('only an internal key may follow events');
      if (text.split('\n\n').length > 2) return 'at once';
    }
  } catch (error) {
    if (error instanceof InconclusiveError) throw error; // else it is the end of the time
  }
  throw new CheckFailedError(`nothing within ${FIRST_EVENT_MAX_MS / 1_000} s`);
}
