import { ERROR_CATALOGUE } from '@petstore/api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importPets } from '../support/database.ts';
import { openRaw, type RawResponse } from './support/raw-http.ts';
import { useTestApp } from './support/test-app.ts';

const app = await useTestApp({ bounds: { headersTimeoutMs: 4_000, requestTimeoutMs: 4_000, maxBodyBytes: 50 } });
await importPets(app.persistence, [{ id: 1n, name: 'Ada' }]);

const rarely = <Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });

const method = rarely(
  fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'),
  fc.constantFrom('get', '', 'PRI'),
);
const target = rarely(
  fc.constantFrom(
    ...['/v1/store/orders', '/v2/store/orders', '/v1/store/orders/1', '/v1/pets/1'],
    ...['/trpc/pets.get', '/trpc/orders.cancel'],
  ),
  fc
    .array(
      fc.constantFrom('v1', 'trpc', 'store', '', '%', '%31', '%2F', '%00', '..', 'docs', '%zz', '\x7f', 'ä', '*'),
      {
        maxLength: 5,
      },
    )
    .map((segments) => `/${segments.join('/')}`),
);
const query = rarely(
  fc.constantFrom('', '?batch=1', '?input={', '?limit=1'),
  fc.constantFrom('?%', '#', '?batch=1&batch=0'),
);
const version = rarely(fc.constant('HTTP/1.1'), fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/9', ''));
const host = rarely(fc.constant('Host: x'), fc.constantFrom('Host: x\r\nHost: y', 'X: y'));
const key = rarely(fc.constant(`Authorization: Bearer ${app.key}`), fc.constantFrom('Authorization: Bearer x', 'X: y'));
const more = fc.array(
  rarely(
    fc.constantFrom('Content-Type: application/json', 'Expect: 100-continue', 'Connection: close', 'Upgrade: h2c'),
    fc.constantFrom('Expect: x', 'Content-Type: ;', 'Content-Encoding: gzip', ': no name', 'no colon', 'X: \x00'),
  ),
  { maxLength: 2 },
);
const body = rarely(
  fc.constantFrom(
    '\r\n',
    'Content-Length: 11\r\n\r\n{"json":{}}',
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  ),
  fc.constantFrom(
    'Content-Length: 100\r\n\r\n{}',
    'Content-Length: -1\r\n\r\n',
    'Transfer-Encoding: x\r\n\r\n{}',
    'Transfer-Encoding: chunked\r\n\r\nno chunk\r\n',
    `Transfer-Encoding: chunked\r\n\r\nc8\r\n${'x'.repeat(200)}\r\n`,
    `Content-Length: 200\r\n\r\n${'x'.repeat(200)}`,
    'GARBAGE\r\n\r\n',
  ),
);
const request = fc
  .tuple(method, fc.tuple(target, query), version, fc.tuple(host, key, more), body)
  .map(([verb, where, protocol, [first, second, others], rest]) => ({
    verb,
    text: `${verb} ${where.join('')} ${protocol}\r\n${[first, second, ...others].join('\r\n')}\r\n${rest}`,
  }));

const STATUSES = new Set<number>(Object.values(ERROR_CATALOGUE).map(({ status }) => status));

function expectWellFormed({ status, headers, body: text }: RawResponse): void {
  expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(headers['x-content-type-options']).toBe('nosniff');
  if (status < 400) return;
  expect(STATUSES).toContain(status);
  expect(headers['content-type']).toBe('application/json');
  if (text === '') return; // to HEAD
  const response = JSON.parse(text);
  const [first] = Array.isArray(response) ? response : [response];
  if ('error' in first) expect(first.error.json.data.errorCode).toMatch(/^[a-z_]+$/);
  else expect(Object.keys(response)).toEqual(['code', 'message', 'status']);
  expect(status).not.toBe(500);
}

test('every response to random input is well-formed, and the listener goes on serving', async () => {
  const seen = new Map<number, number>();
  let clients = 0;
  const property = fc.asyncProperty(request, async ({ verb, text }) => {
    const localAddress = `127.0.1.${1 + (clients++ % 250)}`;
    using connection = await openRaw({ port: app.port, localAddress });
    connection.write(text);
    let response = await connection.read(verb);
    if (response.status === 100) response = await connection.read(verb);
    seen.set(response.status, (seen.get(response.status) ?? 0) + 1);
    expectWellFormed(response);
  });
  // Concurrently, because an incomplete request waits for its time limit.
  await Promise.all(Array.from({ length: 10 }, () => fc.assert(property, { numRuns: 100 })));
  // Otherwise the generated requests are of no use.
  expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 204, 400, 401, 404, 405, 415, 417]));
  expect((await app.fetch('/v1/pets/1')).status).toBe(200);
  expect(app.logLines.filter(({ level }) => level >= 50)).toEqual([]);
}, 120_000);
