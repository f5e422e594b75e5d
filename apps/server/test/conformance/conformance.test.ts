import { codeIn, openApiDocument, procedureContracts } from '@petstore/api';
import {
  decideOrder,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  ORDER_COMMANDS,
  orderId,
  StorageUnavailableError,
} from '@petstore/domain';
import { manualClock, PATIENTLY } from '@petstore/testing';
import { ordersInEveryState } from '@petstore/testing/any-order';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { readSettings } from '../../src/settings.ts';
import { sendOne } from '../http/support/raw-http.ts';
import { failing, failingToFindKeys, overriding, withListing } from '../http/support/replaced-parts.ts';
import {
  createKeyBeforeBan,
  PETS_SUNSET_AT,
  startTestApp,
  type TestApp,
  type TestAppOptions,
  useTestApp,
} from '../http/support/test-app.ts';
import { createKey, importOrders, importPets, pendingOrder, placeOrder, planOf } from '../support/database.ts';
import { type DescribedOperation, describeApi, ResponseValidator } from './response-validator.ts';

const SHOP = 'https://shop.example';
/** Of getPetById, which has to succeed whenever these tests run. */
const petsSunsetAt = new Date('2999-12-31T00:00:00Z');
const app = await useTestApp({ corsOrigins: [SHOP], petsSunsetAt });
await importPets(app.persistence, [
  { id: 1n, name: 'Ada' },
  { id: 2n, name: 'Bo' },
]);
for (let placed = 0; placed < 2; placed++) await placeOrder(app.persistence);

const read = async (path: string) =>
  describeApi(await (await app.fetch(path, { key: null })).json(), app.origin + path);
/** The documents as they are served. */
const APIS = [await read('/v1/openapi.json'), await read('/v2/openapi.json')];
const OPERATIONS = APIS.flatMap(({ basePath, operations }) =>
  operations.map((operation) => ({ ...operation, basePath, name: `${operation.method} ${basePath}${operation.path}` })),
);
type Operation = (typeof OPERATIONS)[number];
const validator = new ResponseValidator(APIS);

/** A request, as it is written to the connection. */
interface RequestFacts {
  readonly method: string;
  readonly url: string;
  readonly key?: string | null;
  /** Whole header lines. */
  readonly lines?: readonly string[];
  /** The end of the head. @default '\r\n\r\n' */
  readonly end?: string;
  /** The operation that was meant, where the path is of none. */
  readonly meantFor?: string;
}

/** Apps that refuse or fail every request, or most of them. */
const HASTY = await useTestApp({ petsSunsetAt, bounds: { headersTimeoutMs: 1_000 } });
const useFailingApps = (failingBy: (error: Error) => TestAppOptions) =>
  Promise.all(
    [new Error('a fault'), new StorageUnavailableError('away')].map((error) =>
      useTestApp({ petsSunsetAt, ...failingBy(error) }),
    ),
  ) as Promise<[faulty: TestApp, withoutStorage: TestApp]>; // one for each error
const FAILING = { all: await useFailingApps(failing), keys: await useFailingApps(failingToFindKeys) };
const KNOWN_TO_BE_WITHOUT_STORAGE = await useTestApp({ petsSunsetAt, isStorageAvailable: () => false });
const FULL = await useTestApp({ petsSunsetAt, bounds: { maxRequestsInFlight: 0 } });

/** An app whose keys have the maximum in flight, which waits until the tests have ended. */
async function startCrowdedApp(): Promise<TestApp> {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const crowded = await startTestApp({
    monotonicNowMs: () => 0, // so that keys stay cached
    wrap: {
      limiter: (limiter) =>
        overriding(limiter, {
          async check(subject, cost) {
            if (isHeld) await gate.promise;
            return limiter.check(subject, cost);
          },
        }),
    },
  });
  const calls = Array(KEY_REQUESTS_IN_FLIGHT_MAX).fill('pets.get').join();
  const most: Promise<Response>[] = [];
  for (const [i, key] of [crowded.key, crowded.internalKey].entries()) {
    await crowded.fetch('/v1/pets/1', { key }); // from here on the process knows the key
    isHeld = true;
    most.push(crowded.fetch(`/trpc/${calls}?batch=1&input=%7B%7D`, { key }));
    await vi.waitUntil(() => crowded.app.traffic.requestsInFlight.count === i + 1, PATIENTLY);
    isHeld = false;
  }
  isHeld = true;
  afterAll(async () => {
    gate.resolve();
    await Promise.all(most);
    await crowded[Symbol.asyncDispose]();
  });
  return crowded;
}

const CROWDED = await startCrowdedApp();

/** Sends a request on a connection of its own, and checks the response. @returns its status and error code */
async function send(facts: RequestFacts, from: TestApp = app): Promise<string> {
  const { method, url, key = from.key, lines = [], end = '\r\n\r\n', meantFor } = facts;
  const head = [
    `${method} ${url} HTTP/1.1`,
    'Host: x',
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    ...lines,
  ];
  const { status, headers, body } = await sendOne(head.join('\r\n') + end, { port: from.port, method });
  const exchanged = { method, url, status, headers, body, ...(meantFor !== undefined && { meantFor }) };
  expect(validator.check(exchanged), `${method} ${url} ${status} ${body}`).toEqual([]);
  if (status < 400 || body === '') return String(status);
  const { code } = JSON.parse(body);
  return `${status} ${code}`;
}

/** By operationId: creates what a request needs to succeed. @returns its path below the version */
const SUCCEEDING: Readonly<Record<string, (from: TestApp) => Promise<string>>> = {
  listOrders: async () => '/store/orders',
  cancelOrder: async (from) => `/store/orders/${(await placeOrder(from.persistence)).id}`,
  getPetById: async () => '/pets/1',
  listOrdersPage: async () => '/store/orders?limit=2',
  listOrderEvents: async () => '/store/order-events?after=0&limit=2',
  getLimits: async () => '/limits',
  getKey: async () => '/key',
  getOrder: async (from) => `/store/orders/${(await placeOrder(from.persistence)).id}`,
};

const urlOf = async ({ operationId, basePath }: Operation, from: TestApp = app): Promise<string> => {
  const make = SUCCEEDING[operationId];
  if (make === undefined) throw new Error(`Say in SUCCEEDING how ${operationId} succeeds.`);
  return basePath + (await make(from));
};

const isReadable = ({ basePath, path }: Operation): boolean =>
  OPERATIONS.some((other) => other.basePath === basePath && other.path === path && other.method === 'GET');

const contractOf = (operationId: string) => {
  const documented = [...procedureContracts.values()].filter((each) => each.openapi !== undefined);
  const contract = documented.find(({ openapi }) => openapi.operationId === operationId);
  if (contract === undefined) throw new Error(`${operationId} has no contract.`);
  return contract;
};

/** The names of an operation's parameters that are not in its path. */
function queryParametersOf({ operationId, path }: Operation): readonly string[] {
  const contract = contractOf(operationId);
  const { parameterNames = {} } = contract.rest;
  const names = Object.keys(contract.input?.shape ?? {}).map((field) => parameterNames[field] ?? field);
  return names.filter((name) => !path.includes(`{${name}}`));
}

/** NUL, which PostgreSQL does not store; half of a surrogate pair, which is no UTF-8; nothing; and more than a character. */
const ODD_TEXTS = ['%00', '%ED%A0%80', '', '%F0%9F%90%95%27%22%5C'];

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'TRACE'];

describe.concurrent.each(OPERATIONS)('$name', (operation) => {
  const { method, operationId } = operation;
  const { type, access } = contractOf(operationId);
  const keyOf = (from: TestApp) => (access === 'internal' ? from.internalKey : from.key);
  const sendFor = async (more: Partial<RequestFacts> = {}, from: TestApp = app) =>
    send({ method, url: await urlOf(operation, from), key: keyOf(from), ...more }, from);

  test('succeeds, also for a browser of an allowed origin', async () => {
    const success = Object.keys(operation.responses).filter((status) => status < '300');
    expect(success).toEqual([await sendFor()]);
    expect(success).toEqual([await sendFor({ lines: [`Origin: ${SHOP}`] })]);
  });

  test('HEAD, OPTIONS, a preflight and other methods', async () => {
    expect(await sendFor({ method: 'HEAD' })).toBe(isReadable(operation) ? '200' : '405');
    expect(await sendFor({ method: 'OPTIONS' })).toBe('204');
    const lines = [`Origin: ${SHOP}`, `Access-Control-Request-Method: ${method}`];
    expect(await sendFor({ method: 'OPTIONS', key: null, lines })).toBe('204');
    expect(await sendFor({ method: 'OPTIONS', key: null })).toBe('401 missing_api_key');
    const ofPath = OPERATIONS.filter((other) => other.basePath + other.path === operation.basePath + operation.path);
    for (const other of METHODS.filter((candidate) => !ofPath.some(({ method }) => method === candidate))) {
      expect(await sendFor({ method: other })).toBe('405 method_not_allowed');
    }
  });

  test('without a key, or with a wrong one', async () => {
    expect(await sendFor({ key: null })).toBe('401 missing_api_key');
    expect(await sendFor({ key: 'unknown' })).toBe('401 invalid_api_key');
    expect(await sendFor({ key: null, lines: ['Authorization: Basic eDp5'] })).toBe('401 missing_api_key');
  });

  test('with a key that may not call it', async () => {
    const refused: string[] = [];
    if (type === 'mutation')
      refused.push(
        (await createKey(app.persistence, { kind: access === 'internal' ? 'internal' : 'external', readOnly: true }))
          .text,
      );
    if (access === 'internal') refused.push(app.key);
    expect('403' in operation.responses).toBe(refused.length > 0);
    for (const key of refused) expect(await sendFor({ key })).toBe('403 insufficient_scope');
  });

  test('an invalid request', async () => {
    expect(await sendFor({ lines: ['Host: y'] })).toBe('400 invalid_request');
    expect(await sendFor({ lines: ['Expect: a-miracle'] })).toBe('417 expectation_failed');
    expect(await sendFor({ lines: [`X: ${'x'.repeat(17_000)}`] })).toBe('431 headers_too_large');
    expect(await sendFor({ end: '\r\n' }, HASTY)).toBe('408 request_timeout');
  });

  test('no text of a parameter makes the service fail', async () => {
    const [path] = (await urlOf(operation)).split('?');
    for (const name of queryParametersOf(operation)) {
      for (const text of ODD_TEXTS) expect(await sendFor({ url: `${path}?${name}=${text}` })).toMatch(/^(?:200|400)/);
    }
  });

  test('a list in pages comes to its end, with everything once', async () => {
    if (!queryParametersOf(operation).includes('cursor')) return;
    const [path] = (await urlOf(operation)).split('?');
    const seen: unknown[] = [];
    for (let next: string | null = ''; next !== null && seen.length < 100; ) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`;
      const page: Record<string, unknown> = await (await app.fetch(`${path}?limit=1${cursor}`)).json();
      const items = Object.values(page).find((value) => Array.isArray(value)) ?? [];
      seen.push(...items.map((item: { readonly id: unknown }) => item.id));
      next = page['next'] as string | null; // as the document says
    }
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...new Set(seen)]);
  });

  test('too many requests, then a ban', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
    await sendFor({ key });
    expect(await sendFor({ key })).toBe('429 rate_limit_exceeded');
    expect(await sendFor({ key: await createKeyBeforeBan(app) })).toBe('429 api_key_banned');
  });

  test('too many requests at once', async () => {
    expect(await sendFor({}, CROWDED)).toBe('429 too_many_in_flight');
  });

  test('failures of the service', async () => {
    const [faulty, withoutStorage] = FAILING[operationId === 'getKey' ? 'keys' : 'all']; // it shows what was looked up
    expect(await sendFor({}, faulty)).toBe('500 internal_error');
    expect(await sendFor({}, withoutStorage)).toBe('503 service_unavailable');
    expect(await sendFor({ key: 'unknown' }, KNOWN_TO_BE_WITHOUT_STORAGE)).toBe('503 service_unavailable');
    expect(await sendFor({}, FULL)).toBe('503 overloaded');
  });

  test(`${operationId} is distinguished from paths that do not exist`, async () => {
    expect(await send({ method, url: `${operation.basePath}/nothing` })).toBe('404 route_not_found');
    const path = (await urlOf(operation)).replace(/\?.*/, '');
    // As sent by a client that adds a slash to the base URL, or at the end, where another operation may have its id.
    const doubled = path.replace(operation.basePath, `${operation.basePath}/`);
    expect(await sendFor({ url: doubled, meantFor: operationId })).toBe('404 route_not_found');
    const wantsId = ({ basePath, path: other, method: by }: Operation) =>
      basePath === operation.basePath && by === method && other.startsWith(`${operation.path}/{`);
    if (OPERATIONS.some(wantsId)) expect(await sendFor({ url: `${path}/` })).toBe('400 invalid_request');
    else expect(await sendFor({ url: `${path}/`, meantFor: operationId })).toBe('404 route_not_found');
  });
});

describe.concurrent('responses of single operations', () => {
  const commands = OPERATIONS.flatMap((operation) => {
    const command = ORDER_COMMANDS.find(
      (each) => procedureContracts.get(`orders.${each}`)?.openapi?.operationId === operation.operationId,
    );
    return command === undefined ? [] : { ...operation, command };
  });

  test.each(commands)('$name, in each state that it does not apply to', async (operation) => {
    const { method, basePath, path, operationId, command } = operation;
    const key = contractOf(operationId).access === 'internal' ? app.internalKey : app.key;
    const call = (id: string) => send({ method, url: basePath + path.replace('{orderId}', id), key });
    expect(await call('0x1')).toBe('400 invalid_request');
    expect(await call('404')).toBe('404 order_not_found');
    for (const order of ordersInEveryState(pendingOrder(0n), new Date())) {
      const decision = decideOrder(order, command, new Date());
      if (decision.ok) continue;
      const { id } = await placeOrder(app.persistence); // one that is free in all tests
      const own = orderId(-id);
      await importOrders(app.persistence, [{ ...order, id: own }]);
      const version = basePath === '/v1' ? 'v1' : 'v2';
      expect(await call(String(own))).toBe(`409 ${codeIn(version, decision.reason)}`);
    }
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
    expect(await send({ method: 'GET', url: '/v1/pets/x' })).toBe('400 invalid_request');
    expect(await send({ method: 'GET', url: '/v1/pets/404' })).toBe('404 pet_not_found');
    await using late = await startTestApp({ clock: manualClock(PETS_SUNSET_AT) });
    expect(await send({ method: 'GET', url: '/v1/pets/1' }, late)).toBe('410 operation_sunset');
  });

  test('getPetById has the deprecation headers that the document shows, and links to an explanation', async () => {
    const { components } = await (await app.fetch('/v1/openapi.json', { key: null })).json();
    const response = await app.fetch('/v1/pets/1');
    for (const [field, name] of [
      ['deprecation', 'Deprecation'],
      ['sunset', 'Sunset'],
      ['link', 'DeprecationLink'],
    ] as const) {
      expect(response.headers.get(field)).toBe(components.headers[name].example);
    }
    const [, target = ''] = /^<([^>]*)>; rel="deprecation"/.exec(response.headers.get('link') ?? '') ?? [];
    const { pathname, hash } = new URL(target, response.url);
    const page = await (await app.fetch(pathname, { key: null })).text();
    expect(page).toContain(`id="${hash.slice(1)}"`);
    expect(page).toContain('GET /v1/pets/{petId}');
  });

  test('getOrder', async () => {
    const find = (id: unknown) => send({ method: 'GET', url: `/v2/store/orders/${id}` });
    expect(await find('0x1')).toBe('400 invalid_request');
    expect(await find('404')).toBe('404 order_not_found');
    expect(await find((await placeOrder(app.persistence, 'ship', 'complete')).id)).toBe('200');
  });

  test('listOrderEvents', async () => {
    const list = (query: string, from = app) => send({ method: 'GET', url: `/v2/store/order-events?${query}` }, from);
    await placeOrder(app.persistence, 'ship', 'complete');
    await placeOrder(app.persistence, 'cancel');
    expect(await list('after=0&limit=1000')).toBe('200');
    expect(await list('')).toBe('200');
    expect(await list('after=x')).toBe('400 invalid_request');
    await using other = await startTestApp({ orders: 2 });
    const now = new Date(Date.now() + 1_000);
    await other.persistence.events.deleteExpired({ eventsBefore: now, now, signal: new AbortController().signal });
    expect(await list('after=1', other)).toBe('410 events_expired');
  });

  test('listOrdersPage', async () => {
    for (let placed = 0; placed < 3; placed++) await placeOrder(app.persistence);
    expect(await send({ method: 'GET', url: '/v2/store/orders?limit=1' })).toBe('200');
    expect(await send({ method: 'GET', url: '/v2/store/orders?status=shipped' })).toBe('200');
    expect(await send({ method: 'GET', url: '/v2/store/orders?limit=0' })).toBe('400 invalid_request');
  });
});

test.each([
  ['a success that links to help', '1', { link: '</docs>; rel="help"' }],
  ['an error that links to none', 'x', { link: '' }],
  ['an error that links to two', 'x', { link: '</docs>; rel="help", </docs>; rel="help"' }],
  ['an error with a link of another kind', 'x', { link: '</docs>; rel="next", </docs>; rel="help"' }],
  ['the end of a key that does not end', '1', { 'x-api-key-expires': 'Mon, 01 Mar 2027 12:00:00 GMT' }],
])('the check of responses finds %s', async (_, limit, own) => {
  const url = `/v2/store/orders?limit=${limit}`;
  const { status, headers, body } = await sendOne(
    `GET ${url} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n\r\n`,
    { port: app.port },
  );
  const check = (more: Readonly<Record<string, string>>) =>
    validator.check({ method: 'GET', url, status, body, headers: { ...headers, ...more } });
  expect(check({})).toEqual([]);
  expect(check(own)).not.toEqual([]);
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

test('a response that is not as documented fails the test that caused it', async () => {
  async function* wrongOrders() {
    const order = {
      id: '"1"',
      petId: '7',
      quantity: '2',
      shipDate: undefined,
      status: 'pending',
      complete: false,
    } as const;
    yield { orders: [order], isLast: true };
  }
  const wrap: TestAppOptions['wrap'] = {
    orders: (orders) => withListing(orders, wrongOrders),
  };
  const other = await startTestApp({ wrap });
  expect((await other.fetch('/v1/store/orders')).status).toBe(200);
  await expect(other[Symbol.asyncDispose]()).rejects.toThrow(
    'GET /v1/store/orders: 200: the body/0/id must be integer',
  );
});

test('the committed document shows the default sunset', () => {
  const { petsSunsetAt } = readSettings({}, { workingFolder: '/', isTerminal: false });
  const committed = JSON.stringify(openApiDocument({ servers: [] }));
  expect(committed).toContain(`"x-sunset":"${petsSunsetAt.toISOString().slice(0, 10)}"`);
});
