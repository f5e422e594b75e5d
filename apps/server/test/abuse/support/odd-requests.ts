import { hash } from 'node:crypto';
import { generateApiKeyId, generateApiKeyText } from '@petstore/domain';
import fc from 'fast-check';

/** A request, and how its client behaves. */
export type OddRequest =
  | {
      readonly type: 'http';
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string | undefined;
      /** What the client does not wait for: to have sent its body, or to have read the response. */
      readonly abort?: 'body' | 'response' | undefined;
    }
  | {
      readonly type: 'bytes';
      readonly text: string;
      /** Whether the client waits for a response; else it ends its side at once. */
      readonly isWhole: boolean;
    };

/** `Authorization` headers with keys that exist. */
export interface KnownKeys {
  readonly external: readonly string[];
  readonly internal: string;
  /** With limits that are reached at once. */
  readonly narrow: string;
  readonly expired: string;
}

const PATHS = {
  rest: ['/v1/store/orders', '/v2/store/orders', '/v1/pets/1', '/v1/pets/7', '/v1/pets/x', '/v3/store/orders'],
  open: ['/', '/docs', '/docs/', '/v1/openapi.json', '/v1/openapi.yaml', '/docs/nothing', '/favicon.ico'],
  queries: ['', '?limit=3', '?limit=0', '?status=pending', '?after=x', '?limit=2&limit=3', '?%zz', '?a[]=1', '?limit='],
  procedures: ['orders.list', 'orders.cancel', 'orders.place', 'orders.ship', 'orders.complete', 'orders.get'].concat(
    ...['pets.get', 'limits.current', 'v2.orders.list', 'orders', '__proto__', 'orders.list.constructor'],
  ),
} as const;
const METHODS = ['GET', 'GET', 'DELETE', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'PROPFIND', 'REPORT', 'TRACE'];

const orderId = fc.oneof(fc.integer({ min: 1, max: 30_000 }).map(String), fc.string({ maxLength: 30 }));
/** Short texts of any kind, as a part of a path. */
const segment = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed()));

const TYPES = ['bigint', 'Date', 'undefined', 'set', 'map', 'regexp', 'Error', 'number', 'URL', 'nothing'];
/** Arrays and the like of any declared length. */
const TYPED_ARRAY = ['typed-array', 'Float64Array'];
/** Any value, declared as any of superjson's types. */
const oddInput = fc.record(
  {
    json: fc.oneof(
      fc.record({ orderId, petId: orderId, quantity: fc.jsonValue({ maxDepth: 1 }) }, { requiredKeys: [] }),
      fc.jsonValue({ maxDepth: 4 }),
      fc.record({ orderId: fc.nat() }),
    ),
    meta: fc.oneof(
      fc.record({
        values: fc.dictionary(
          fc.constantFrom('orderId', 'petId', 'quantity', '', '0', 'a.b', '__proto__', 'constructor.prototype'),
          fc.oneof(fc.tuple(fc.constantFrom(...TYPES, TYPED_ARRAY)), fc.jsonValue({ maxDepth: 1 })),
        ),
      }),
      fc.jsonValue({ maxDepth: 2 }),
    ),
  },
  { requiredKeys: [] },
);
const rightInput = fc
  .tuple(fc.integer({ min: 1, max: 30_000 }), fc.integer({ min: 1, max: 9 }), fc.uuid())
  .map(([id, quantity, idempotencyKey]) => ({
    json: { orderId: String(id), petId: String(id), quantity, idempotencyKey },
    meta: { values: { orderId: ['bigint'], petId: ['bigint'] } },
  }));
const input = fc.oneof(rightInput, oddInput).map((value) => JSON.stringify(value));

type Arbitrary<Value> = fc.Arbitrary<Value>;
type HttpRequest = Extract<OddRequest, { type: 'http' }>;
type Bytes = Extract<OddRequest, { type: 'bytes' }>;
type Part = Pick<HttpRequest, 'method' | 'path' | 'body' | 'abort'> & { readonly headers?: HttpRequest['headers'] };

const JSON_HEADERS = { 'content-type': 'application/json' };

const rest: Arbitrary<Part> = fc
  .tuple(
    fc.constantFrom(...METHODS),
    fc.oneof(
      fc.constantFrom(...PATHS.rest),
      orderId.map((id) => `/v1/store/orders/${encodeURIComponent(id.toWellFormed())}`),
      fc.array(segment, { maxLength: 4 }).map((segments) => `/v1/${segments.join('/')}`),
    ),
    fc.constantFrom(...PATHS.queries),
  )
  .map(([method, path, query]) => ({ method, path: path + query }));
const cancel: Arbitrary<Part> = orderId.map((id) => ({
  method: 'DELETE',
  path: `/v1/store/orders/${encodeURIComponent(id.toWellFormed())}`,
}));
const open: Arbitrary<Part> = fc.constantFrom(...PATHS.open).map((path) => ({ method: 'GET', path }));
const preflight: Arbitrary<Part> = fc.constantFrom('/v1/store/orders', '/trpc/orders.list').map((path) => ({
  method: 'OPTIONS',
  path,
  headers: { origin: 'https://shop.example', 'access-control-request-method': 'DELETE' },
}));
const trpcMutation: Arbitrary<Part> = fc
  .tuple(fc.constantFrom(...PATHS.procedures), input)
  .map(([name, body]) => ({ method: 'POST', path: `/trpc/${name}`, headers: JSON_HEADERS, body }));
const trpcQuery: Arbitrary<Part> = fc
  .tuple(fc.constantFrom('GET', 'GET', 'HEAD'), fc.constantFrom(...PATHS.procedures), input)
  // Whole lists cost as much as a hundred other requests, so there are few of them, below.
  .map(([method, name, text]) => ({
    method: name === 'orders.list' ? 'HEAD' : method,
    path: `/trpc/${name}?input=${encodeURIComponent(text.slice(0, 2_000).toWellFormed())}`,
  }));
const trpcBatch: Arbitrary<Part> = fc
  .tuple(fc.array(fc.constantFrom('orders.cancel', 'orders.ship', 'pets.get', 'nothing', '')), fc.array(input))
  .map(([names, inputs]) => ({
    method: 'POST',
    path: `/trpc/${names.join(',')}?batch=1`,
    headers: JSON_HEADERS,
    body: `{${inputs.map((text, i) => `"${i}":${text}`).join(',')}}`,
  }));
const garbageBody: Arbitrary<Part> = fc
  .tuple(
    fc.constantFrom('orders.cancel', 'orders.place'),
    fc.oneof(fc.constantFrom('', '{', '[]', 'null', '\0', `"${'x'.repeat(1_100_000)}"`), fc.json()),
    fc.constantFrom('application/json', 'text/plain', 'application/json; charset=x', ''),
    fc.constantFrom({}, { 'content-encoding': 'gzip' }, { expect: 'x' }, { 'trpc-accept': 'application/jsonl' }),
  )
  .map(([name, body, type, more]) => ({
    method: 'POST',
    path: `/trpc/${name}`,
    headers: { ...more, 'content-type': type },
    body,
  }));
const abortedBody: Arbitrary<Part> = fc.constantFrom('orders.cancel', 'orders.place').map((name) => ({
  method: 'POST',
  path: `/trpc/${name}`,
  headers: { ...JSON_HEADERS, 'content-length': '1000' },
  body: '{"json":',
  abort: 'body',
}));
const list = (abort: Part['abort']): Arbitrary<Part> =>
  fc.constantFrom('/v1/store/orders', '/trpc/orders.list').map((path) => ({ method: 'GET', path, abort }));

const bytes: Arbitrary<Bytes> = fc.oneof(
  fc
    .string({ unit: 'binary-ascii', maxLength: 60 })
    .map((text) => ({ type: 'bytes' as const, text: `${text}\r\n\r\n`, isWhole: false })),
  fc
    .constantFrom(
      'GET /v1/store/orders%zz HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /v1/%ff%fe/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      'POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      'POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    .map((text) => ({ type: 'bytes' as const, text, isWhole: true })),
);

type Who = 'external' | 'internal' | 'narrow' | 'expired' | 'forged' | 'mistyped' | 'other scheme' | 'none';

/** How many of a thousand requests have which key. */
const whoOf = (strangers: boolean): Arbitrary<Who> => {
  const [known, unknown] = strangers ? [1, 9] : [8, 2];
  return fc.oneof(
    { weight: known * 60, arbitrary: fc.constant('external' as const) },
    { weight: known * 20, arbitrary: fc.constant('internal' as const) },
    { weight: known * 10, arbitrary: fc.constant('narrow' as const) },
    { weight: known * 10, arbitrary: fc.constant('expired' as const) },
    { weight: unknown * 60, arbitrary: fc.constant('forged' as const) },
    { weight: unknown * 10, arbitrary: fc.constant('mistyped' as const) },
    { weight: unknown * 10, arbitrary: fc.constant('other scheme' as const) },
    { weight: unknown * 20, arbitrary: fc.constant('none' as const) },
  );
};

const part: Arbitrary<Part | Bytes> = fc.oneof(
  { weight: 200, arbitrary: rest },
  { weight: 150, arbitrary: cancel },
  { weight: 30, arbitrary: open },
  { weight: 60, arbitrary: preflight },
  { weight: 180, arbitrary: trpcMutation },
  { weight: 130, arbitrary: trpcQuery },
  { weight: 80, arbitrary: trpcBatch },
  { weight: 40, arbitrary: garbageBody },
  { weight: 30, arbitrary: abortedBody },
  { weight: 10, arbitrary: list('response') },
  { weight: 2, arbitrary: list(undefined) },
  { weight: 50, arbitrary: bytes },
);

export interface OddRequestsOptions {
  readonly seed: number;
  readonly keys: KnownKeys;
  /** How many to make. */
  readonly count: number;
  /**
   * Whether nearly all have a key or an address that was not seen before, so that all that the server remembers of these
   * is soon full.
   */
  readonly strangers: boolean;
}

/** Requests of every kind, the same for one seed. */
export function* oddRequests({ seed, keys, count, strangers }: OddRequestsOptions): Generator<OddRequest> {
  const batch = 1_000;
  // Preflights are counted separately, by address.
  const requests = fc.tuple(strangers ? fc.oneof(part, preflight) : part, whoOf(strangers), fc.nat(99));
  for (let made = 0; made < count; made += batch) {
    const numRuns = Math.min(batch, count - made);
    for (const [index, [what, who, choice]] of fc.sample(requests, { seed: seed + made, numRuns }).entries()) {
      const bytesOf = seededBytes(`${seed}/${strangers}/${made + index}`);
      const address = choice < 10 && !strangers ? `203.0.113.${choice}` : addressFrom(bytesOf);
      if ('type' in what) {
        yield { ...what, text: what.text.replace('\r\n', `\r\nX-Forwarded-For: ${address}\r\n`) };
        continue;
      }
      const authorization = authorizationOf(who, keys, choice, bytesOf);
      const headers = {
        ...what.headers,
        'x-forwarded-for': address,
        ...(authorization !== undefined && { authorization }),
      };
      yield { ...what, type: 'http', headers };
    }
  }
}

type SeededBytes = (size: number) => Buffer;

/** Bytes that are derived from a text, different at each call. */
function seededBytes(text: string): SeededBytes {
  let calls = 0;
  return (size) => hash('shake256', `${text}/${calls++}`, { outputEncoding: 'buffer', outputLength: size });
}

function authorizationOf(who: Who, keys: KnownKeys, choice: number, bytesOf: SeededBytes): string | undefined {
  switch (who) {
    case 'external':
      return `Bearer ${keys.external[choice % keys.external.length]}`;
    case 'internal':
    case 'narrow':
    case 'expired':
      return `Bearer ${keys[who]}`;
    case 'forged':
      return `Bearer ${generateApiKeyText('live', generateApiKeyId(bytesOf), bytesOf)}`;
    case 'mistyped':
      return `bearer   pso_live_${bytesOf(20).toString('hex')}`;
    case 'other scheme':
      return `Basic ${bytesOf(9).toString('base64')}`;
    case 'none':
      return undefined;
    default:
      return who satisfies never;
  }
}

function addressFrom(bytesOf: SeededBytes): string {
  const [version = 0, ...octets] = bytesOf(4);
  if (version % 2 === 0) return `10.${octets.join('.')}`;
  return `2001:db8:${bytesOf(4).toString('hex').replace(/^.{4}/, '$&:')}::1`;
}
