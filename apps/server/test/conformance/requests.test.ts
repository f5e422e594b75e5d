import { METHODS } from 'node:http';
import type { OrderRepository } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { expectError } from '../http/support/expect-error.ts';
import { openRaw, type RawResponse, request, sendOne } from '../http/support/raw-http.ts';
import { withListing } from '../http/support/replaced-parts.ts';
import { startTestApp, useTestApp } from '../http/support/test-app.ts';
import { createKey, importPets, placeOrder } from '../support/database.ts';
import {
  idParameterOf,
  inputOf,
  keyFor,
  kindFor,
  type Operation,
  operationsOf,
  operationsThat,
  queryParametersOf,
  urlOf,
} from './operations.ts';
import { APIS } from './watch-responses.ts';

// Every operation is found, and reads its requests, as every other does. The app checks the responses against the documents.

const app = await useTestApp();
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);
for (let placed = 0; placed < 2; placed++) await placeOrder(app.persistence);
const OPERATIONS = operationsOf(APIS);

interface RequestFacts {
  readonly method?: string;
  readonly key?: string;
}

/** Unlike fetch, which would rewrite some URLs. */
const send = (operation: Operation, url: string, { method = operation.method, key }: RequestFacts = {}) =>
  sendOne(request(url, key ?? keyFor(operation, app), method), { port: app.port, method });

const newUrl = async (operation: Operation) => urlOf(operation, await inputOf(operation, app));
const pathOf = async (operation: Operation) => (await newUrl(operation)).replace(/\?.*/, '');

const encodeEach = (text: string) => text.replaceAll(/[^/]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);

/** Other spellings of a URL. */
const SPELLINGS: readonly (readonly [what: string, spell: (url: string) => string])[] = [
  ['percent-encoded', (url) => url.replace(/^[^?]*/, encodeEach)],
  ['in absolute form', (url) => `http://anything.example${url}`],
  ['with another scheme and host', (url) => `HTTPS://[2001:db8::1]:443${url}`],
  ['with a fragment', (url) => `${url}#part`],
  ['with an empty query', (url) => (url.includes('?') ? `${url}&` : `${url}?`)],
];

/** Paths that begin as those of the API do, and are none of them: no limits are counted there. */
const OUTSIDE: readonly ((url: string) => string)[] = [
  (url) => url.replace(/^\/v/, '/V'),
  (url) => `/${url}`,
  (url) => url.replace(/^(\/v\d)\//, '$1%2F'),
  (url) => url.replace(/^\/v\d/, '$&x'),
  (url) => url.replace(/^\/v\d/, ''),
];

/** What is no 64-bit integer in plain decimal digits. */
const NO_IDS = [
  ...['0x1', '1e0', '1.0', '+1', '007', '-0', ' 1', '1_000', '٣', '1n', '1/2', '\0', 'pso_live_secret'],
  ...['9223372036854775808', '-9223372036854775809', '1'.repeat(10_000)],
];

/** What no operation reads, or takes up. */
const IGNORED: readonly (readonly [what: string, lines: readonly string[], body?: string])[] = [
  ['bad JSON', ['Content-Type: application/json', 'Content-Length: 7'], '{"bad":'],
  ['a body of an unknown type', ['Content-Type: what/ever; x', 'Content-Length: 5'], 'hello'],
  ['a body of no type', ['Content-Length: 5'], 'hello'],
  ['an empty JSON body', ['Content-Type: application/json', 'Content-Length: 0']],
  ['a body in an unknown encoding', ['Content-Encoding: zip', 'Content-Length: 5'], 'hello'],
  ['a body in chunks', ['Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'],
  ['the type of a body that is none', ['Content-Type: application/json']],
  ['Accept of another type', ['Accept: application/xml']],
  ['a range', ['Range: bytes=0-10']],
  ['a tag to ask by', ['If-None-Match: *']],
  ['a method to override', ['X-HTTP-Method-Override: PATCH']],
  ['h2c, as of Java’s HttpClient', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']],
  [
    'a WebSocket',
    ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAA', 'Sec-WebSocket-Version: 13'],
  ],
];

/** NUL, which PostgreSQL does not store; half of a surrogate pair, which is no UTF-8; nothing; and more than a character. */
const ODD_TEXTS = ['%00', '%ED%A0%80', '', '%F0%9F%90%95%27%22%5C'];

describe.concurrent.each(OPERATIONS)('$name', (operation) => {
  const { method, route } = operation;

  test('is found by any spelling of its URL', async () => {
    for (const [what, spell] of SPELLINGS) {
      expect((await send(operation, spell(await newUrl(operation)))).status, what).toBe(route.successStatus);
    }
  });

  test('is found by none that lies outside of the API, where nothing is counted', async () => {
    const url = await newUrl(operation);
    for (const outside of OUTSIDE.map((move) => move(url))) {
      const { headers } = await expectError(await send(operation, outside), 'route_not_found');
      expect(headers, outside).not.toHaveProperty('x-ratelimit-limit');
    }
  });

  test('refuses what is not in its query, which v1 ignores', async () => {
    const status = async (query: string) => (await send(operation, `${await pathOf(operation)}?${query}`)).status;
    for (const query of ['unknown=1', 'x[]=1', 'x=%zz']) {
      expect(await status(query), query).toBe(operation.basePath === '/v1' ? route.successStatus : 400);
    }
  });

  test('ignores bodies and offers, and keeps the connection open', async () => {
    using connection = await openRaw({ port: app.port });
    for (const [what, lines, body = ''] of IGNORED) {
      connection.write(request(await newUrl(operation), keyFor(operation, app), method, lines) + body);
      expect((await connection.read(method)).status, what).toBe(route.successStatus);
    }
  });
});

const withQuery = operationsThat((each) => queryParametersOf(each).length > 0, OPERATIONS);

test.concurrent.each(withQuery)(
  '$name takes any text for a parameter of its query without failing',
  async (operation) => {
    const path = await pathOf(operation);
    for (const name of queryParametersOf(operation)) {
      for (const text of ODD_TEXTS) {
        const { status } = await send(operation, `${path}?${name}=${text}`);
        expect([200, 400], `${name}=${text}`).toContain(status);
      }
    }
  },
);

const withId = operationsThat((each) => idParameterOf(each) !== undefined, OPERATIONS);

describe.concurrent.each(withId)('$name', (operation) => {
  test('takes a 64-bit integer in plain decimal digits and nothing else, which it does not repeat', async () => {
    const path = await pathOf(operation);
    for (const id of NO_IDS) {
      const url = path.replace(/[^/]*$/, encodeURIComponent(id));
      const { body } = await expectError(await send(operation, url), 'invalid_request');
      expect(JSON.parse(body).message).toMatch(new RegExp(`^${idParameterOf(operation)}: .`));
      if (id.length > 5) expect(body).not.toContain(id);
    }
  });

  test('has an empty id if its path ends in a slash, by its own methods alone', async () => {
    const path = (await pathOf(operation)).replace(/[^/]*$/, '');
    await expectError(await send(operation, path), 'invalid_request');
    await expectError(await send(operation, path, { method: 'OPTIONS' }), 'route_not_found');
    await expectError(await send(operation, path, { method: 'POST' }), 'route_not_found');
  });
});

const LENGTHS = ['content-length', 'transfer-encoding'];
const namesOf = ({ headers }: RawResponse) =>
  Object.keys(headers)
    .filter((name) => !LENGTHS.includes(name))
    .sort();

/** Expects of HEAD what GET says. @param isLengthKnown without making the body, which HEAD does not */
function expectHeadOf(get: RawResponse, head: RawResponse, isLengthKnown: boolean): void {
  expect([head.status, namesOf(head), head.body]).toEqual([get.status, namesOf(get), '']);
  const length = isLengthKnown ? get.headers['content-length'] : undefined;
  expect([head.headers['content-length'], head.headers['transfer-encoding']]).toEqual([length, undefined]);
}

describe.concurrent.each(OPERATIONS.filter(({ method }) => method === 'GET'))('HEAD of $name', (operation) => {
  test('responds as GET does, without a body', async () => {
    const url = await newUrl(operation);
    const { text } = await createKey(app.persistence, { kind: kindFor(operation) }); // nobody else counts for it
    for (const [at, key, isList] of [
      [url, text, operation.contract.rest.stream !== undefined],
      [url, 'unknown', false],
      [`${url.replace(/\?.*/, '')}/1/2`, text, false],
    ] as const) {
      const [get, head] = [await send(operation, at, { key }), await send(operation, at, { key, method: 'HEAD' })];
      expectHeadOf(get, head, !isList);
    }
  });
});

test('HEAD of a list lists nothing', async () => {
  let listings = 0;
  const counted = (orders: OrderRepository) =>
    withListing(orders, async function* count(original) {
      listings++;
      yield* original;
    });
  await using own = await startTestApp({ wrap: { orders: counted } });
  expect((await own.fetch('/v1/store/orders', { method: 'HEAD' })).status).toBe(200);
  expect(listings).toBe(0);
  expect((await own.fetch('/v1/store/orders')).status).toBe(200);
  expect(listings).toBe(1);
});

test.each(operationsThat((each) => queryParametersOf(each).includes('cursor'), OPERATIONS))(
  '$name comes to its end in pages, with everything once',
  async (operation) => {
    const path = await pathOf(operation);
    const seen: unknown[] = [];
    let next: string | null = '';
    while (next !== null && seen.length < 1_000) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`;
      const page: Record<string, unknown> = await (await app.fetch(`${path}?limit=1${cursor}`)).json();
      const items = Object.values(page).find((value) => Array.isArray(value)) ?? [];
      seen.push(...items.map((item: { readonly id: unknown }) => item.id));
      next = page['next'] as string | null; // as the document says
    }
    expect(next).toBeNull();
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...new Set(seen)]);
  },
);

describe.each(['/v1/openapi.json', '/docs', '/'])('%s, which is no operation', (path) => {
  const sendBy = (method: string) => sendOne(request(path, app.key, method), { port: app.port, method });
  const allow = 'GET, HEAD, OPTIONS';

  test('has GET, HEAD and OPTIONS', async () => {
    expectHeadOf(await sendBy('GET'), await sendBy('HEAD'), true);
    const { status, headers } = await sendBy('OPTIONS');
    expect([status, headers['allow']]).toEqual([204, allow]);
    for (const name of [...LENGTHS, 'content-type']) expect(headers).not.toHaveProperty(name);
    const others = METHODS.filter((method) => !['CONNECT', ...allow.split(', ')].includes(method));
    for (const method of others) {
      expect((await expectError(await sendBy(method), 'method_not_allowed')).headers).toMatchObject({ allow });
    }
  });
});
