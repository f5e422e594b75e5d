import { hash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { generateApiKeyId, generateApiKeyText } from '@petstore/domain';
import fc from 'fast-check';

/** A request, or bytes that may be none. */
export type OddRequest = HttpRequest | { readonly text: string };

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What the client does not wait for: to have sent its body, or to have read the response. */
  readonly abort?: 'body' | 'response';
}

/** Keys that exist. */
export interface KnownKeys {
  readonly external: readonly string[];
  readonly internal: string;
  /** With limits that are reached at once. */
  readonly narrow: string;
  readonly expired: string;
}

const METHODS = ['GET', 'GET', 'DELETE', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'PROPFIND', 'REPORT', 'TRACE'];
const PATHS = [
  ...['/v1/store/orders?%zz', '/v2/store/orders?limit=3', '/v2/store/orders?a[]=1', '/v2/store/orders?status=pending'],
  ...['/v1/pets/1', '/v1/pets/x', '/v3/store/orders', '/', '/docs', '/v1/openapi.json', '/v1/openapi.yaml', '/nothing'],
];
const PROCEDURES = [
  ...[
    'orders.cancel',
    'orders.place',
    'orders.ship',
    'orders.complete',
    'orders.get',
    'pets.get',
    'limits.current',
    'key.current',
  ],
  ...['v2.orders.list', 'orders', '__proto__', 'orders.cancel.constructor', ''],
];
const TYPES = ['bigint', 'Date', 'undefined', 'set', 'map', 'regexp', 'Error', 'number', 'URL', 'nothing'];
const MALFORMED = [
  'GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
  'POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
];

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
const method = fc.constantFrom(...METHODS);
const orderId = fc.oneof(fc.integer({ min: 1, max: 30_000 }).map(String), fc.string({ maxLength: 30 }));
const orderPath = orderId.map((id) => `/v1/store/orders/${encoded(id)}`);
const oddPath = fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 4 });
const procedure = fc.constantFrom(...PROCEDURES);
const rightInput = fc.tuple(fc.integer({ min: 1, max: 30_000 }), fc.uuid()).map(([id, idempotencyKey]) => ({
  json: { orderId: `${id}`, petId: `${id}`, quantity: 1, idempotencyKey },
  meta: { values: { orderId: ['bigint'], petId: ['bigint'] } },
}));
/** Any value, declared as any of superjson's types. */
const oddInput = fc.record({
  json: fc.oneof(fc.record({ orderId, petId: orderId, quantity: fc.jsonValue() }), fc.jsonValue({ maxDepth: 4 })),
  meta: fc.record({
    values: fc.dictionary(
      fc.constantFrom('orderId', 'petId', '', '0', 'a.b', '__proto__'),
      fc.oneof(
        fc.constantFrom(...TYPES, ['typed-array', 'Float64Array']).map((type) => [type]),
        fc.jsonValue(),
      ),
    ),
  }),
});
const input = fc.oneof(rightInput, oddInput).map((value) => JSON.stringify(value));

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (names: string, body: string, headers: HttpRequest['headers'] = JSON_TYPE): HttpRequest => ({
  method: 'POST',
  path: `/trpc/${names}`,
  headers,
  body,
});
const asBatch = (inputs: readonly string[]) => `{${inputs.map((text, i) => `"${i}":${text}`).join()}}`;
const listOf = (abort?: 'response') =>
  fc
    .constantFrom('/v1/store/orders', '/trpc/orders.list')
    .map((path): HttpRequest => ({ method: 'GET', path, ...(abort && { abort }) }));
const preflight = fc.constantFrom('/v1/store/orders', '/trpc/orders.list').map((path): HttpRequest => {
  const headers = { origin: 'https://shop.example', 'access-control-request-method': 'DELETE' };
  return { method: 'OPTIONS', path, headers };
});
const garbageBody = fc.record({
  body: fc.constantFrom('', '{', '[]', '\0', `"${'x'.repeat(1_100_000)}"`),
  type: fc.constantFrom('application/json', 'text/plain', ''),
  more: fc.constantFrom({}, { 'content-encoding': 'gzip' }, { expect: 'x' }, { 'trpc-accept': 'application/jsonl' }),
});

const weighted = <Value>(...choices: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<Value>])[]) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const anyRequest = weighted<OddRequest>(
  [150, fc.record({ method, path: fc.constantFrom(...PATHS) })],
  [50, fc.record({ method, path: oddPath.map((parts) => `/v1/${parts.map(encoded).join('/')}`) })],
  [200, fc.record({ method: fc.constantFrom('DELETE', 'DELETE', 'GET'), path: orderPath })],
  [60, preflight],
  [180, fc.tuple(procedure, input).map(([name, body]) => post(name, body))],
  [130, fc.tuple(procedure, input).map(([name, text]) => ({ method: 'GET', path: `/trpc/${name}?input=${encoded(text)}` }))],
  [80, fc.tuple(fc.array(procedure), fc.array(input)).map(([names, all]) => post(`${names.join()}?batch=1`, asBatch(all)))],
  [40, garbageBody.map(({ body, type, more }) => post('orders.cancel', body, { ...more, 'content-type': type }))],
  [30, fc.constant({ ...post('orders.place', '{"json":', { ...JSON_TYPE, 'content-length': '1000' }), abort: 'body' })],
  [10, listOf('response')],
  [2, listOf()], // each costs as much as a hundred other requests
  [50, fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 60 }), fc.constantFrom(...MALFORMED)).map((text) => ({ text }))],
); // biome-ignore format: a table

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
  const known = weighted<string | undefined>(
    [6, fc.constantFrom(...keys.external)],
    [4, fc.constantFrom(keys.internal, keys.internal, keys.narrow, keys.expired)],
  );
  const unknown = fc.constantFrom('forged', 'forged', 'forged', 'mistyped', undefined);
  const key = strangers ? weighted([1, known], [9, unknown]) : weighted([8, known], [2, unknown]);
  const requests = fc.tuple(anyRequest, key, fc.nat(99));
  const batch = 1_000;
  for (let made = 0; made < count; made += batch) {
    const numRuns = Math.min(batch, count - made);
    for (const [index, [what, who, choice]] of fc.sample(requests, { seed: seed + made, numRuns }).entries()) {
      const bytesOf = seededBytes(`${seed}/${strangers}/${made + index}`);
      const address = choice < 10 && !strangers ? `203.0.113.${choice}` : `10.${[...bytesOf(3)].join('.')}`;
      if ('text' in what) {
        yield { text: what.text.replace('\r\n', `\r\nX-Forwarded-For: ${address}\r\n`) };
        continue;
      }
      const forged = () => generateApiKeyText('live', generateApiKeyId(bytesOf), bytesOf);
      const authorization = who === undefined ? 'Basic eDp5' : `Bearer ${who === 'forged' ? forged() : who}`;
      yield { ...what, headers: { ...what.headers, 'x-forwarded-for': address, authorization } };
    }
  }
}

/** Bytes that are derived from a text, different at each call. */
function seededBytes(text: string): (size: number) => Buffer {
  let calls = 0;
  return (size) => hash('shake256', `${text}/${calls++}`, { outputEncoding: 'buffer', outputLength: size });
}

/** How a request ended for its client: the status of its response, or how it ended without one. */
export type Outcome = number | 'aborted' | 'lost';

interface SendOptions {
  readonly port: number;
  /** How many are in progress at a time. */
  readonly concurrency: number;
}

/**
 * Sends all of them. All connections are closed when it resolves.
 *
 * @param outcomes to which the number of each outcome is added
 */
export async function sendAll(
  requests: Iterator<OddRequest>,
  outcomes: Map<Outcome, number>,
  { port, concurrency }: SendOptions,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const sendOneByOne = async () => {
    for (let next = requests.next(); !next.done; next = requests.next()) {
      const outcome = await ('text' in next.value
        ? sendBytes(next.value.text, port)
        : sendHttp(next.value, port, agent));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, sendOneByOne));
  } finally {
    agent.destroy();
  }
}

function sendHttp(
  { method, path, headers = {}, body, abort }: HttpRequest,
  port: number,
  agent: Agent,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const outgoing = request({ agent, port, host: '127.0.0.1', method, path, headers }, (response) => {
    response.once('data', () => {
      if (abort === 'response') outgoing.destroy();
    });
    response.on('error', () => {}); // closed all the same
    response.once('close', () => resolve(response.complete ? (response.statusCode ?? 'lost') : 'aborted'));
  });
  outgoing.on('error', () => resolve(abort === undefined ? 'lost' : 'aborted'));
  if (abort === 'body') outgoing.write(body, () => outgoing.destroy());
  else outgoing.end(body);
  return promise;
}

/** Ends its side at once, so that the server waits for nothing more. */
function sendBytes(text: string, port: number): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let received = '';
  const socket = connect({ port, host: '127.0.0.1' });
  socket.end(text, 'latin1');
  socket.setEncoding('latin1').on('data', (part: string) => {
    if (received.length < 20) received += part;
    socket.end();
  });
  socket.on('error', () => {}); // closed all the same
  socket.once('close', () => {
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received) ?? [];
    resolve(status === undefined ? 'lost' : Number(status));
  });
  return promise;
}
