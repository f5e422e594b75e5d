import { setTimeout as sleep } from 'node:timers/promises';
import { openApiDocument } from '@petstore/api';
import { StorageUnavailableError } from '@petstore/domain';
import { readSettings } from '@petstore/runtime';
import { manualClock } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { withListing } from '../http/support/listing-of.ts';
import { importOrders, importPets, pendingOrder, placeOrder } from '../http/support/orders.ts';
import { sendOne } from '../http/support/raw-http.ts';
import {
  createKey,
  failing,
  PETS_SUNSET_AT,
  planOf,
  startTestApp,
  type TestApp,
  type TestAppOptions,
  useTestApp,
} from '../http/support/test-app.ts';
import { AnswerValidator } from './answer-validator.ts';
import { type DescribedOperation, describeApi } from './described-api.ts';

const SHOP = 'https://shop.example';
/** Of getPetById, which is to succeed whenever these tests run. */
const petsSunsetAt = new Date('2999-12-31T00:00:00Z');
const app = await useTestApp({ corsOrigins: [SHOP], petsSunsetAt });
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

const read = async (path: string) => describeApi(await (await app.fetch(path, { key: null })).json());
/** The documents as they are served. */
const APIS = [await read('/v1/openapi.json'), await read('/v2/openapi.json')];
const OPERATIONS = APIS.flatMap(({ basePath, operations }) =>
  operations.map((operation) => ({ ...operation, basePath, name: `${operation.method} ${basePath}${operation.path}` })),
);
type Operation = (typeof OPERATIONS)[number];
const validator = new AnswerValidator(APIS);

/** A request in the words of HTTP. */
interface Asked {
  readonly method: string;
  readonly url: string;
  readonly key?: string | null;
  /** Whole header lines. */
  readonly lines?: readonly string[];
  /** Closes the head. @default '\r\n\r\n' */
  readonly end?: string;
  /** The operation that was to be asked, where the path leads to none. */
  readonly meantFor?: string;
}

/** Asks over a connection of its own, holds the answer against the document, and gives its status and code. */
async function ask(asked: Asked, from: TestApp = app): Promise<string> {
  const { method, url, key = from.key, lines = [], end = '\r\n\r\n', meantFor } = asked;
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

/** The path, below the version, of a request that succeeds, by operationId: what must be there for it is made. */
const SUCCEEDING: Readonly<Record<string, (from: TestApp) => Promise<string>>> = {
  listOrders: async () => '/store/orders',
  cancelOrder: async (from) => `/store/orders/${(await placeOrder(from.persistence)).id}`,
  getPetById: async () => '/pets/1',
  listOrdersPage: async () => '/store/orders?limit=2',
  getOrder: async (from) => `/store/orders/${(await placeOrder(from.persistence)).id}`,
};

const urlOf = async ({ operationId, basePath }: Operation, from: TestApp = app): Promise<string> => {
  const make = SUCCEEDING[operationId];
  if (make === undefined) throw new Error(`Say in SUCCEEDING how ${operationId} succeeds.`);
  return basePath + (await make(from));
};

const isReadable = ({ basePath, path }: Operation): boolean =>
  OPERATIONS.some((other) => other.basePath === basePath && other.path === path && other.method === 'GET');

describe.each(OPERATIONS)('$name', (operation) => {
  const { method, operationId } = operation;
  const askFor = async (more: Partial<Asked> = {}, from: TestApp = app) =>
    ask({ method, url: await urlOf(operation, from), ...more }, from);
  const own = async (options: TestAppOptions, more: Partial<Asked> = {}) => {
    await using other = await startTestApp({ petsSunsetAt, ...options });
    return await askFor(more, other);
  };

  test('succeeds, also from a browser of an origin that may', async () => {
    const success = Object.keys(operation.responses).filter((status) => status < '300');
    expect(success).toEqual([await askFor()]);
    expect(success).toEqual([await askFor({ lines: [`Origin: ${SHOP}`] })]);
  });

  test('HEAD, OPTIONS, a preflight and other methods', async () => {
    expect(await askFor({ method: 'HEAD' })).toBe(isReadable(operation) ? '200' : '405');
    expect(await askFor({ method: 'OPTIONS' })).toBe('204');
    const lines = [`Origin: ${SHOP}`, `Access-Control-Request-Method: ${method}`];
    expect(await askFor({ method: 'OPTIONS', key: null, lines })).toBe('204');
    expect(await askFor({ method: 'OPTIONS', key: null })).toBe('401 missing_api_key');
    for (const other of ['PUT', 'POST', 'PATCH', 'TRACE']) {
      expect(await askFor({ method: other })).toBe('405 method_not_allowed');
    }
  });

  test('without a key, or with a wrong one', async () => {
    expect(await askFor({ key: null })).toBe('401 missing_api_key');
    expect(await askFor({ key: 'nobody' })).toBe('401 invalid_api_key');
    expect(await askFor({ key: null, lines: ['Authorization: Basic eDp5'] })).toBe('401 missing_api_key');
  });

  test('a request that is none', async () => {
    expect(await askFor({ lines: ['Host: y'] })).toBe('400 invalid_request');
    expect(await askFor({ lines: ['Expect: a-miracle'] })).toBe('417 expectation_failed');
    expect(await askFor({ lines: [`X: ${'x'.repeat(17_000)}`] })).toBe('431 headers_too_large');
    expect(await own({ bounds: { headersTimeoutMs: 100 } }, { end: '\r\n' })).toBe('408 request_timeout');
  });

  test('too many requests, then a ban', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
    await askFor({ key });
    expect(await askFor({ key })).toBe('429 rate_limit_exceeded');
    let answer = '';
    // One refusal more where one of them was not by Redis, because that took more than 100 ms.
    for (let refusals = 0; refusals < 3 && answer !== '429 api_key_banned'; refusals++) {
      await sleep(2_100); // what comes before is no strike
      answer = await askFor({ key });
    }
    expect(answer).toBe('429 api_key_banned');
  });

  test('failures of ours', async () => {
    expect(await own(failing(new Error('a fault')))).toBe('500 internal_error');
    expect(await own(failing(new StorageUnavailableError('away')))).toBe('503 service_unavailable');
    expect(await own({ isStorageAvailable: () => false }, { key: 'nobody' })).toBe('503 service_unavailable');
    expect(await own({ bounds: { maxRequestsInFlight: 0 } })).toBe('503 overloaded');
  });

  test(`${operationId} is told apart from what is not there`, async () => {
    expect(await ask({ method, url: `${operation.basePath}/nothing` })).toBe('404 route_not_found');
    const path = (await urlOf(operation)).replace(/\?.*/, '');
    // As a client asks that adds a slash to the base URL, or at the end, where an id that is empty may be missing.
    const doubled = path.replace(operation.basePath, `${operation.basePath}/`);
    expect(await askFor({ url: doubled, meantFor: operationId })).toBe('404 route_not_found');
    const wantsId = ({ basePath, path: other, method: by }: Operation) =>
      basePath === operation.basePath && by === method && other.startsWith(`${operation.path}/{`);
    if (OPERATIONS.some(wantsId)) expect(await askFor({ url: `${path}/` })).toBe('400 invalid_request');
    else expect(await askFor({ url: `${path}/`, meantFor: operationId })).toBe('404 route_not_found');
  });
});

describe('what single operations answer', () => {
  test.each(['v1', 'v2'])('cancelOrder of %s', async (version) => {
    const cancel = (id: string) => ask({ method: 'DELETE', url: `/${version}/store/orders/${id}` });
    expect(await cancel('0x1')).toBe('400 invalid_request');
    expect(await cancel('404')).toBe('404 order_not_found');
    expect(await cancel(String((await placeOrder(app.persistence, 'ship')).id))).toBe('409 order_already_shipped');
    expect(await cancel(String((await placeOrder(app.persistence, 'cancel')).id))).toBe('409 order_already_cancelled');
  });

  test('listOrders, when there are orders of all kinds', async () => {
    await placeOrder(app.persistence, 'ship', 'complete');
    await importOrders(app.persistence, [
      pendingOrder(9_223_372_036_854_775_807n, { quantity: 2_147_483_647 }),
      pendingOrder(-9_223_372_036_854_775_808n, { shipDate: new Date('9999-12-31T23:59:59.999Z') }),
    ]);
    expect(await ask({ method: 'GET', url: '/v1/store/orders' })).toBe('200');
  });

  test('getPetById', async () => {
    expect(await ask({ method: 'GET', url: '/v1/pets/x' })).toBe('400 invalid_request');
    expect(await ask({ method: 'GET', url: '/v1/pets/404' })).toBe('404 pet_not_found');
    await using late = await startTestApp({ clock: manualClock(PETS_SUNSET_AT) });
    expect(await ask({ method: 'GET', url: '/v1/pets/1' }, late)).toBe('410 operation_sunset');
  });

  test('getPetById tells of its end what the document shows, and where that is explained', async () => {
    const { components } = await (await app.fetch('/v1/openapi.json', { key: null })).json();
    const answer = await app.fetch('/v1/pets/1');
    for (const [field, name] of [
      ['deprecation', 'Deprecation'],
      ['sunset', 'Sunset'],
      ['link', 'DeprecationLink'],
    ] as const) {
      expect(answer.headers.get(field)).toBe(components.headers[name].example);
    }
    const [, target = ''] = /^<([^>]*)>; rel="deprecation"/.exec(answer.headers.get('link') ?? '') ?? [];
    const { pathname, hash } = new URL(target, answer.url);
    const page = await (await app.fetch(pathname, { key: null })).text();
    expect(page).toContain(`id="${hash.slice(1)}"`);
    expect(page).toContain('GET /pets/{petId}');
  });

  test('getOrder', async () => {
    const find = (id: unknown) => ask({ method: 'GET', url: `/v2/store/orders/${id}` });
    expect(await find('0x1')).toBe('400 invalid_request');
    expect(await find('404')).toBe('404 order_not_found');
    expect(await find((await placeOrder(app.persistence, 'ship', 'complete')).id)).toBe('200');
  });

  test('listOrdersPage', async () => {
    for (let placed = 0; placed < 3; placed++) await placeOrder(app.persistence);
    expect(await ask({ method: 'GET', url: '/v2/store/orders?limit=1' })).toBe('200');
    expect(await ask({ method: 'GET', url: '/v2/store/orders?status=shipped' })).toBe('200');
    expect(await ask({ method: 'GET', url: '/v2/store/orders?limit=0' })).toBe('400 invalid_request');
  });
});

/** Every status of every operation, and every error code that the document gives an example of there. */
function documentedAnswers({ operationId, responses }: DescribedOperation): readonly string[] {
  return Object.entries(responses).flatMap(([status, { content }]) => {
    const key = `${operationId} ${status}`;
    const codes = Object.keys(content?.['application/json']?.examples ?? {});
    return status < '300' ? [key] : [key, ...codes.map((code) => `${key} ${code}`)];
  });
}

test('nothing is documented that was not seen above', () => {
  const documented = OPERATIONS.flatMap(documentedAnswers);
  expect(documented.length).toBeGreaterThan(50);
  expect(documented.filter((answer) => !validator.seen.has(answer))).toEqual([]);
});

test('an answer that is not as documented fails whichever test asked for it', async () => {
  async function* wrongOrders() {
    yield Buffer.from('[{"id":"1"}]');
  }
  const wrap: TestAppOptions['wrap'] = {
    orders: (orders) => withListing(orders, 'json', wrongOrders),
  };
  const other = await startTestApp({ wrap });
  expect((await other.fetch('/v1/store/orders')).status).toBe(200);
  await expect(other[Symbol.asyncDispose]()).rejects.toThrow(
    'GET /v1/store/orders: 200: the body/0/id must be integer',
  );
});

test('the document that is committed tells the sunset that is the default', () => {
  const { petsSunsetAt } = readSettings({}, { workingFolder: '/', isTerminal: false });
  const committed = JSON.stringify(openApiDocument({ servers: [] }));
  expect(committed).toContain(`"x-sunset":"${petsSunsetAt.toISOString().slice(0, 10)}"`);
});
