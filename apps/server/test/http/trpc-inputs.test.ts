import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readMemoryInUse } from '@petstore/testing';
import { beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../support/database.ts';
import { openRaw } from './support/raw-http.ts';
import { useTestApp } from './support/test-app.ts';

const shared = await useTestApp();

const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);
const references = (items: number, paths: number) =>
  JSON.stringify({
    json: { a: indexes(items), b: 0 },
    meta: { values: { a: ['set'] }, referentialEqualities: { b: Array(paths).fill(`a.${items - 1}`) } },
  });
const typedArray = (type: string, of: unknown) =>
  JSON.stringify({
    json: { p: { a: 300_000_000 } },
    meta: { values: { p: { a: [['typed-array', type]] }, 'p.a': [of] } },
  });

/** Inputs that cost superjson seconds or gigabytes. Each stopped a server that passed it to superjson. */
const ATTACKS = {
  'a typed array as the root': '{"json":3000000000,"meta":{"values":[["typed-array","Uint8Array"]]}}',
  'a set of a typed array': typedArray('Uint8Array', 'set'),
  'references, within the size of an input': references(300, 400),
  'references, beyond the size of a request': references(69_000, 57_500),
  'a nested integer of many digits': JSON.stringify({
    json: { a: { b: '9'.repeat(3_900) } },
    meta: { values: { a: { b: ['bigint'] } } },
  }),
  'nesting, within the size of an input': `{"json":${'['.repeat(1_900)}${']'.repeat(1_900)}}`,
  'nesting, beyond it': `{"json":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
};

const post = (path: string, body: string) =>
  shared.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

/** Sends an input in every way: as a body, in a URL, and in a batch. */
async function sendEachWay(body: string): Promise<readonly number[]> {
  const responses = [
    await post('/trpc/orders.cancel', body),
    await post('/trpc/orders.cancel,orders.cancel?batch=1', `{"1":${body}}`),
    await shared.fetch(`/trpc/v2.orders.list?input=${encodeURIComponent(body)}`),
    await shared.fetch(`/trpc/pets.get,pets.get?batch=1&input=${encodeURIComponent(`{"0":${body}}`)}`),
  ];
  await Promise.all(responses.map((response) => response.text()));
  return responses.map(({ status }) => status);
}

describe('an input with', () => {
  let before = 0;
  beforeAll(async () => {
    await shared.fetch('/trpc/orders.cancel', { method: 'POST' }); // loads what is loaded at first use
    before = await readMemoryInUse();
  });

  test.each(Object.entries(ATTACKS))('%s is refused at once, and leaves nothing in memory', async (_, body) => {
    const delay = monitorEventLoopDelay({ resolution: 20 });
    delay.enable();
    const statuses = await sendEachWay(body);
    delay.disable();
    for (const status of statuses) expect([400, 413, 431]).toContain(status);
    // Not a claim of speed: a server that builds these values takes seconds, and hundreds of megabytes.
    expect(delay.max / 1e6).toBeLessThan(1_000);
    expect((await readMemoryInUse()) - before).toBeLessThan(30_000_000);
  });
});

describe('a tRPC request', () => {
  const input = (bytes: number) => `{"json":{"orderId":"${'x'.repeat(bytes - '{"json":{"orderId":""}}'.length)}"}}`;
  const codeOf = async (response: Response) => JSON.stringify(await response.json());

  test('may hold inputs of 4096 bytes, and 65536 bytes in all; more is 413', async () => {
    expect((await post('/trpc/orders.cancel', input(4_096))).status).toBe(400);
    const tooLarge = await post('/trpc/orders.cancel', input(4_097));
    expect(tooLarge.status).toBe(413);
    expect(await codeOf(tooLarge)).toContain('payload_too_large');
    const sixteen = (bytes: number) => `{${indexes(16).map((i) => `"${i}":${input(bytes)}`)}}`;
    const path = `/trpc/${Array(16).fill('orders.cancel').join()}?batch=1`;
    expect((await post(path, sixteen(4_000))).status).toBe(400);
    expect(sixteen(4_096).length).toBeGreaterThan(65_536);
    const whole = await post(path, sixteen(4_096));
    expect(whole.status).toBe(413);
    expect(await codeOf(whole)).toContain('payload_too_large');
  });

  test('may hold an input of 4096 bytes in its URL, too', async () => {
    const ask = (bytes: number) => shared.fetch(`/trpc/pets.get?input=${encodeURIComponent(input(bytes))}`);
    expect((await ask(4_096)).status).toBe(400);
    expect((await ask(4_097)).status).toBe(413);
  });
});

test('a call that announces JSON and sends no body is told what is missing', async () => {
  using connection = await openRaw({ port: shared.port });
  connection.write(
    `POST /trpc/orders.cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.unlimited.text}\r\nContent-Type: application/json\r\n\r\n`,
  );
  const { status, body } = await connection.read('POST');
  expect(status).toBe(400);
  expect(JSON.parse(body).error.json.data.errorCode).toBe('invalid_request');
});
