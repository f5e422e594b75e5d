import { METHODS } from 'node:http';
import { type ApiVersion, codeIn, ERROR_CATALOGUE, type ErrorCode, openApiDocument } from '@petstore/api';
import { decideOrder, ORDER_COMMANDS, orderId, subjectNameOf } from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import { ordersInEveryState } from '@petstore/testing/any-order';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings.ts';
import { expectRateLimitHeaders } from '../http/support/expect-error.ts';
import { type RawResponse, request, sendOne } from '../http/support/raw-http.ts';
import { createBannedKey, PETS_SUNSET_AT, startTestApp, type TestApp, useTestApp } from '../http/support/test-app.ts';
import { mutate, query, type TrpcResponse } from '../http/support/trpc-calls.ts';
import { createKey, importOrders, importPets, pendingOrder, placeOrder, planOf } from '../support/database.ts';
import { type Input, inputOf, keyFor, kindFor, type Operation, operationsOf, urlOf } from './operations.ts';
import { SECRET, useRefusingApps } from './refusing-apps.ts';
import { type DescribedOperation, describeApi, ResponseValidator } from './response-validator.ts';

// Every operation of the documents responds as they say, in each way that they say, and over tRPC alike.

const SHOP = 'https://shop.example';
/** Of getPetById, which has to succeed whenever these tests run. */
const petsSunsetAt = new Date('2999-12-31T00:00:00Z');
const app = await useTestApp({ corsOrigins: [SHOP], petsSunsetAt });
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

const read = async (path: string) =>
  describeApi(await (await app.fetch(path, { key: null })).json(), app.origin + path);
/** The documents as they are served. */
const APIS = [await read('/v1/openapi.json'), await read('/v2/openapi.json')];
const OPERATIONS = operationsOf(APIS);
const validator = new ResponseValidator(APIS);

const APPS = await useRefusingApps(petsSunsetAt);

/** A request, as it is written to the connection. */
interface RequestFacts {
  readonly method: string;
  readonly url: string;
  readonly key?: string | null;
  /** Whole header lines. */
  readonly lines?: readonly string[];
  /** All of it. @default the head that says the above */
  readonly text?: string;
  /** The operation that was meant, where the path is of none. */
  readonly meantFor?: string;
}

/** Sends a request on a connection of its own, and checks that its response is documented. */
async function exchange(facts: RequestFacts, from: TestApp = app): Promise<RawResponse> {
  const { method, url, key = from.key, lines, text = request(url, key ?? undefined, method, lines), meantFor } = facts;
  const response = await sendOne(text, { port: from.port, method });
  const { status, headers, body } = response;
  const exchanged = { method, url, status, headers, body, ...(meantFor !== undefined && { meantFor }) };
  expect(validator.check(exchanged), `${method} ${url} ${status} ${body}`).toEqual([]);
  return response;
}

/** The status of a response and, of an Error object, its code. */
const outcomeOf = ({ status, body }: RawResponse): string =>
  status < 400 || body === '' ? String(status) : `${status} ${JSON.parse(body).code}`;

const send = async (facts: RequestFacts, from?: TestApp) => outcomeOf(await exchange(facts, from));

/** Calls the procedure of an operation. */
function callOverTrpc(
  { contract, route }: Operation,
  input: Input,
  options: Parameters<typeof query>[3],
  from: TestApp = app,
): Promise<TrpcResponse> {
  const call = contract.type === 'mutation' ? mutate : query;
  return call(from, route.procedure, contract.input && input, options);
}

interface Attempt {
  readonly from?: TestApp;
  /** @default one that may call the operation */
  readonly key?: string | null;
  /** In place of a key. */
  readonly authorization?: string;
  /** @default one that succeeds */
  readonly input?: Input;
}

/** Headers of a refusal that are the same over REST and tRPC. */
const SAME_HEADERS = [
  'content-type',
  'cache-control',
  'www-authenticate',
  'x-ratelimit-limit',
  'deprecation',
  'sunset',
];

/**
 * Expects a refusal: over REST as the document has it, and over tRPC with the same message and headers, and without a link
 * to its page.
 */
async function expectRefusal(
  operation: Operation,
  code: ErrorCode,
  {
    from = app,
    authorization,
    key = authorization === undefined ? keyFor(operation, from) : null,
    input,
  }: Attempt = {},
): Promise<{ readonly rest: RawResponse; readonly trpc: TrpcResponse }> {
  const values = input ?? (await inputOf(operation, from));
  const lines = authorization === undefined ? [] : [`Authorization: ${authorization}`];
  const rest = await exchange({ method: operation.method, url: urlOf(operation, values), key, lines }, from);
  expect(outcomeOf(rest)).toBe(`${ERROR_CATALOGUE[code].status} ${code}`);
  const trpc = await callOverTrpc(
    operation,
    values,
    { key, ...(authorization !== undefined && { headers: { authorization } }) },
    from,
  );
  expect(trpc.error).toMatchObject({
    message: JSON.parse(rest.body).message,
    data: { code: ERROR_CATALOGUE[code].trpcCode, errorCode: code },
  });
  for (const name of SAME_HEADERS) expect(trpc.headers.get(name), name).toBe(rest.headers[name] ?? null);
  expect(trpc.headers.has('retry-after')).toBe('retry-after' in rest.headers);
  expect(trpc.headers.get('link') ?? '').not.toContain('rel="help"');
  expect(rest.body + trpc.text).not.toContain('secret');
  return { rest, trpc };
}

async function createSpentKey(operation: Operation): Promise<string> {
  const { id, text } = await createKey(app.persistence, { kind: kindFor(operation), plan: planOf(1) });
  await app.limiter.check({ name: subjectNameOf(id), perMinute: 1, perDay: 1_000_000 }, 1);
  return text;
}

/** That key.get fails with: it shows what was looked up. */
const failingFor = ({ operationId }: Operation) => (operationId === 'getKey' ? APPS.failingToFindKeys : APPS.failing);

const challenge = (pattern: RegExp) => ({ 'www-authenticate': expect.stringMatching(pattern) });
const USED_UP = { 'x-ratelimit-remaining': '0', 'retry-after': expect.stringMatching(/^[1-9]\d*$/) };

/** The refusals that every operation has, and their headers. */
const REFUSALS: readonly (readonly [
  code: ErrorCode,
  what: string,
  attempt: (operation: Operation) => Attempt | Promise<Attempt>,
  headers: Readonly<Record<string, unknown>>,
])[] = [
  ['missing_api_key', 'no key', () => ({ key: null }), challenge(/^Bearer realm="petstore"$/)],
  ['missing_api_key', 'another scheme', () => ({ authorization: 'Basic eDp5' }), challenge(/^Bearer/)],
  ['invalid_api_key', 'an unknown key', () => ({ key: 'unknown' }), challenge(/^Bearer .*error="invalid_token"/)],
  ['rate_limit_exceeded', 'a key that is used up', async (of) => ({ key: await createSpentKey(of) }), USED_UP],
  ['api_key_banned', 'a banned key', async () => ({ key: await createBannedKey(app) }), USED_UP],
  ['too_many_in_flight', 'too many calls at once', () => ({ from: APPS.crowded }), { 'retry-after': '1' }],
  [
    'service_unavailable',
    'a store that is away',
    (of) => ({ from: failingFor(of).withoutStorage }),
    { 'retry-after': '5' },
  ],
  [
    'service_unavailable',
    'an unknown key then',
    () => ({ from: APPS.knownToBeWithoutStorage, key: 'unknown' }),
    { 'retry-after': '5' },
  ],
  ['overloaded', 'a full server', () => ({ from: APPS.full }), { 'retry-after': '1' }],
];

describe.concurrent.each(OPERATIONS)('$name', (operation) => {
  const { method, operationId, basePath, path, contract, route, responses } = operation;
  const sendFor = async (more: Partial<RequestFacts> = {}, from: TestApp = app) => {
    const url = more.url ?? urlOf(operation, await inputOf(operation, from));
    return send({ method, key: keyFor(operation, from), ...more, url }, from);
  };
  const success = Object.keys(responses).filter((status) => status < '300');

  test('succeeds, also for a browser of an allowed origin', async () => {
    expect(success).toEqual([await sendFor()]);
    expect(success).toEqual([await sendFor({ lines: [`Origin: ${SHOP}`] })]);
  });

  test('succeeds over tRPC, with the headers that it has over REST', async () => {
    const options = { key: keyFor(operation, app), headers: { 'if-none-match': '*' } };
    const { status, headers } = await callOverTrpc(operation, await inputOf(operation, app), options);
    expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([200, 'no-store', null]);
    expectRateLimitHeaders({ headers: Object.fromEntries(headers) });
  });

  test.for(REFUSALS)('%s: %s, with the same message and headers over tRPC', async ([code, , attempt, headers]) => {
    const { rest } = await expectRefusal(operation, code, await attempt(operation));
    expect(rest.headers).toMatchObject(headers);
  });

  test('insufficient_scope: keys that may not call it', async () => {
    const kind = kindFor(operation);
    const keys = kind === 'internal' ? [app.key] : [];
    if (contract.type === 'mutation') keys.push((await createKey(app.persistence, { kind, readOnly: true })).text);
    expect('403' in responses).toBe(keys.length > 0);
    for (const key of keys) {
      const { rest } = await expectRefusal(operation, 'insufficient_scope', { key });
      expect(rest.headers).toMatchObject(challenge(/error="insufficient_scope"$/));
      // It is told so before anything of its input is read.
      const unreadable = Object.fromEntries(Object.keys(contract.input?.shape ?? {}).map((field) => [field, 'x']));
      await expectRefusal(operation, 'insufficient_scope', { key, input: unreadable });
    }
  });

  test('internal_error: a fault, which is logged whole, once', async () => {
    const { faulty } = failingFor(operation);
    const { rest, trpc } = await expectRefusal(operation, 'internal_error', { from: faulty });
    for (const [requestId, name] of [
      [rest.headers['x-request-id'], operationId],
      [trpc.headers.get('x-request-id'), route.procedure],
    ]) {
      const lines = faulty.logLines.filter((line) => line.level >= 50 && line['requestId'] === requestId);
      const err = { message: SECRET, stack: expect.stringContaining('refusing-apps') };
      expect(lines).toMatchObject([{ operation: name, err }]);
    }
  });

  test('what cannot be read', async () => {
    expect(await sendFor({ lines: ['Host: y'] })).toBe('400 invalid_request');
    expect(await sendFor({ lines: ['Expect: a-miracle'] })).toBe('417 expectation_failed');
    expect(await sendFor({ lines: [`X: ${'x'.repeat(17_000)}`] })).toBe('431 headers_too_large');
    const url = urlOf(operation, await inputOf(operation, app));
    expect(await sendFor({ url, text: `${method} ${url} HTTP/1.1\r\n` }, APPS.hasty)).toBe('408 request_timeout');
  });

  test('OPTIONS, a preflight, and any method that its path does not have', async () => {
    const url = urlOf(operation, await inputOf(operation, app));
    expect(await sendFor({ url, method: 'OPTIONS' })).toBe('204');
    const lines = [`Origin: ${SHOP}`, `Access-Control-Request-Method: ${method}`];
    expect(await sendFor({ url, method: 'OPTIONS', key: null, lines })).toBe('204');
    expect(await sendFor({ url, method: 'OPTIONS', key: null })).toBe('401 missing_api_key');
    const onPath = OPERATIONS.filter((other) => other.basePath + other.path === basePath + path);
    const supported = [...onPath.map((other) => other.method), 'OPTIONS', 'CONNECT'];
    const others = METHODS.filter((other) => other !== 'HEAD' && !supported.includes(other));
    expect(others.length).toBeGreaterThan(20);
    for (const other of others) expect(await sendFor({ url, method: other })).toBe('405 method_not_allowed');
    const isReadable = supported.includes('GET');
    expect(await sendFor({ url, method: 'HEAD' })).toBe(isReadable ? '200' : '405');
  });

  test(`${operationId} is distinguished from paths that do not exist, which only callers with a key can see`, async () => {
    const [url = ''] = urlOf(operation, await inputOf(operation, app)).split('?');
    const below = url.slice(basePath.length);
    const wantsId = ({ basePath: base, path: other, method: by }: Operation) =>
      base === basePath && by === method && other.startsWith(`${path}/{`);
    const mistaken = [
      basePath,
      `${basePath}/nothing`,
      `${basePath}/${below}`, // as sent by a client that adds a slash to the base URL
      `${basePath}/..${url}`,
      `${basePath}/.${below}`,
      `${basePath}${below.toUpperCase()}`,
      `${basePath}${below.replace(/\w+/, '$&%00')}`,
      `${url}/1/`,
      ...(/\/.*\//.test(below) ? [`${basePath}/${below.slice(1).replaceAll('/', '%2F')}`] : []),
      ...(OPERATIONS.some(wantsId) ? [] : [`${url}/`]), // else it is that operation's, with an empty id
    ];
    for (const other of mistaken) {
      expect(await sendFor({ url: other, meantFor: operationId }), other).toBe('404 route_not_found');
      expect(await sendFor({ url: other, key: 'unknown' }), other).toBe('401 invalid_api_key');
    }
  });
});

/** The operation that a procedure is in a version. */
function operationOf(procedure: string, version: ApiVersion): Operation {
  const found = OPERATIONS.find(({ route }) => route.procedure === procedure && route.apiVersion === version);
  return found ?? expect.fail(`${version} has no ${procedure}`);
}

describe.concurrent('responses of single operations', () => {
  const commands = OPERATIONS.flatMap((operation) => {
    const command = ORDER_COMMANDS.find((each) => operation.route.procedure === `orders.${each}`);
    return command === undefined ? [] : { ...operation, command };
  });

  test.each(commands)('$name, in each state that it does not apply to', async ({ command, ...operation }) => {
    await expectRefusal(operation, 'order_not_found', { input: { orderId: 404n } });
    for (const order of ordersInEveryState(pendingOrder(0n), new Date())) {
      const decision = decideOrder(order, command, new Date());
      if (decision.ok) continue;
      const { id } = await placeOrder(app.persistence); // one that is free in all tests
      const own = orderId(-id);
      await importOrders(app.persistence, [{ ...order, id: own }]);
      await expectRefusal(operation, codeIn(operation.route.apiVersion, decision.reason), { input: { orderId: own } });
    }
  });

  test.each(commands)('$name, once for both protocols', async (operation) => {
    const { method, contract } = operation;
    if (contract.type === 'query' || contract.repetition.type !== 'transition')
      throw new Error('a command changes a state');
    const { doneCode } = contract.repetition;
    const overRest = await inputOf(operation, app);
    expect(await send({ method, url: urlOf(operation, overRest), key: keyFor(operation, app) })).toMatch(/^2/);
    await expectRefusal(operation, doneCode, { input: overRest });
    const overTrpc = await inputOf(operation, app);
    expect(await callOverTrpc(operation, overTrpc, { key: keyFor(operation, app) })).toMatchObject({ status: 200 });
    await expectRefusal(operation, doneCode, { input: overTrpc });
  });

  test('listOrders, when there are orders of all kinds', async () => {
    await placeOrder(app.persistence, 'ship', 'complete');
    await importOrders(app.persistence, [
      pendingOrder(9_223_372_036_854_775_807n, { quantity: 2_147_483_647 }),
      pendingOrder(-9_223_372_036_854_775_808n, { shipDate: new Date('9999-12-31T23:59:59.999Z') }),
    ]);
    expect(await send({ method: 'GET', url: '/v1/store/orders' })).toBe('200');
  });

  test('getPetById', async () => {
    const operation = operationOf('pets.get', 'v1');
    await expectRefusal(operation, 'pet_not_found', { input: { petId: 404n } });
    await using late = await startTestApp({ clock: manualClock(PETS_SUNSET_AT) });
    await expectRefusal(operation, 'operation_sunset', { from: late });
  });

  test.each([petsSunsetAt, new Date('2026-01-01T00:00:00Z')])(
    'getPetById has the deprecation headers that the document shows, no later than its sunset: %s',
    async (sunsetAt) => {
      await using own = await startTestApp({ petsSunsetAt: sunsetAt });
      const { components } = await (await own.fetch('/v1/openapi.json', { key: null })).json();
      const { headers } = await own.fetch('/v1/pets/1');
      for (const [field, name] of [
        ['deprecation', 'Deprecation'],
        ['sunset', 'Sunset'],
        ['link', 'DeprecationLink'],
      ] as const) {
        // An error has another link.
        expect(headers.get(field)).toContain(components.headers[name].example);
        expect(components.headers[`Optional${name}`].example).toBe(components.headers[name].example);
      }
      const since = new Date(Number(headers.get('deprecation')?.slice(1)) * 1_000);
      expect(since.getTime()).toBeLessThanOrEqual(sunsetAt.getTime()); // RFC 9745 section 4
    },
  );

  test('getPetById links to an explanation', async () => {
    const { headers, url } = await app.fetch('/v1/pets/1');
    const [, target = ''] = /^<([^>]*)>; rel="deprecation"/.exec(headers.get('link') ?? '') ?? [];
    const { pathname, hash } = new URL(target, url);
    const page = await (await app.fetch(pathname, { key: null })).text();
    expect(page).toContain(`id="${hash.slice(1)}"`);
    expect(page).toContain('GET /v1/pets/{petId}');
  });

  test('getOrder', async () => {
    await expectRefusal(operationOf('orders.get', 'v2'), 'order_not_found', { input: { orderId: 404n } });
    const { id } = await placeOrder(app.persistence, 'ship', 'complete');
    expect(await send({ method: 'GET', url: `/v2/store/orders/${id}` })).toBe('200');
  });

  test('listOrderEvents', async () => {
    await placeOrder(app.persistence, 'ship', 'complete');
    await placeOrder(app.persistence, 'cancel');
    expect(await send({ method: 'GET', url: '/v2/store/order-events?after=0&limit=1000' })).toBe('200');
    await using other = await startTestApp({ orders: 2 });
    const now = new Date(Date.now() + 1_000);
    await other.persistence.events.deleteExpired({ eventsBefore: now, now, signal: new AbortController().signal });
    await expectRefusal(operationOf('orders.events', 'v2'), 'events_expired', { from: other, input: { after: '1' } });
  });
});

/** Every status of an operation, and every error code that has an example there. */
function documentedResponses({ operationId, responses }: DescribedOperation): readonly string[] {
  return Object.entries(responses).flatMap(([status, { content }]) => {
    const key = `${operationId} ${status}`;
    const codes = Object.keys(content?.['application/json']?.examples ?? {});
    return status < '300' ? [key] : [key, ...codes.map((code) => `${key} ${code}`)];
  });
}

test('every documented response occurred above', () => {
  const documented = OPERATIONS.flatMap(documentedResponses);
  expect(documented.length).toBeGreaterThan(50);
  expect(documented.filter((response) => !validator.seen.has(response))).toEqual([]);
});

test('the committed document shows the default sunset', () => {
  const { petsSunsetAt } = readSettings({}, { workingFolder: '/', isTerminal: false });
  const committed = JSON.stringify(openApiDocument({ servers: [] }));
  expect(committed).toContain(`"x-sunset":"${petsSunsetAt.toISOString().slice(0, 10)}"`);
});
