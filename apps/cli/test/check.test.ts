import { KEYS } from '@petstore/server/test-support/database';
import { type StartedServer, startServer } from '@petstore/server/test-support/spawned-server';
import { findFreePort, startHttpServer } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CallOptions, expectKey, petstore } from './support.ts';

// What a proxy breaks is in tooling/deploy, where there are proxies.

interface Finding {
  readonly check: string;
  readonly ok: boolean | null;
  readonly seen: string;
}

let started: StartedServer;
let url: string;
let environment: Record<string, string>;
beforeAll(async () => {
  started = await startServer();
  url = await started.server.url();
  environment = { DATABASE_URL: started.databaseUrl };
});
afterAll(() => started[Symbol.asyncDispose]());

const withKey = (key: string): CallOptions => ({ environment: { PETSTORE_API_KEY: key } });

async function check(args: readonly string[], options?: CallOptions) {
  const { code, stdout, stderr } = await petstore(['check', '--json', ...args], options);
  const findings: readonly Finding[] = JSON.parse(stdout);
  return { code, stderr, findings, broken: findings.filter(({ ok }) => ok === false) };
}

/** All orders, and what has changed orders or keys. */
async function readAll(): Promise<readonly string[]> {
  const reads = [['orders', 'list'], ['audit']].map((args) => petstore([...args, '--json'], { environment }));
  return (await Promise.all(reads)).map(({ stdout }) => stdout);
}

describe('an installation that is right', () => {
  test('keeps every promise that an internal key shows, and nothing changes', async () => {
    const stdin = '{"id":9007199254740993,"petId":9223372036854775807,"quantity":1}\n';
    expect((await petstore(['orders', 'import', '-'], { environment, stdin })).code).toBe(0);
    const before = await readAll();
    const { code, stderr, findings, broken } = await check(['--url', url], withKey(KEYS.internal.text));
    expect([broken, code, stderr]).toEqual([[], 0, '']);
    expect(findings.filter(({ ok }) => ok === null)).toEqual([]);
    expect(findings).toContainEqual({ check: 'the list says that nobody may keep it', ok: true, seen: 'no-store' });
    expect(findings.map(({ seen }) => seen)).toContain('1 orders, and all digits of order 9007199254740993');
    expect(await readAll()).toEqual(before);
  });

  test('is told in a line for each promise; the address may end in /v1, and the key be an argument', async () => {
    const { code, stdout, stderr } = await petstore(['check', '--url', `${url}/v1/`, '--key', KEYS.free.text]);
    expect([code, stderr]).toEqual([0, '']);
    // A key that may only read shows as much.
    const created = await petstore(['keys', 'create', '--plan', 'pro', '--read-only', '--json'], { environment });
    const { findings, broken } = await check(['--url', url], withKey(expectKey(JSON.parse(created.stdout)).key));
    expect(broken).toEqual([]);
    expect(stdout.match(/^(?:ok {5}|skipped) {2}\S.*: \S.*$/gm)).toHaveLength(findings.length);
    expect(stdout).toContain('skipped  an event arrives when it is sent: only an internal key may follow events\n');
    expect(stdout).not.toContain(KEYS.free.text);
  });

  test('shows what it can without a key', async () => {
    const { code, findings } = await check(['--url', url]);
    expect(code).toBe(0);
    const skipped = findings.filter(({ ok }) => ok === null);
    expect(new Set(skipped.map(({ seen }) => seen))).toEqual(new Set(['it needs a key that is accepted']));
    expect(findings.filter(({ ok }) => ok).length).toBeGreaterThan(8);
  });
});

test('a key that is revoked is named, and what needs a key is not seen', async () => {
  const created = await petstore(['keys', 'create', '--plan', 'free', '--json'], { environment });
  const { id, key } = expectKey(JSON.parse(created.stdout));
  expect((await petstore(['keys', 'revoke', id], { environment })).code).toBe(0);
  const { code, broken, findings } = await check(['--url', url], withKey(key));
  expect([code, broken]).toEqual([1, [expect.objectContaining({ seen: expect.stringContaining('revoked') })]]);
  expect(findings.at(-1)).toMatchObject({ ok: null });
});

test('what a used-up limit hides is not seen, and not broken', async () => {
  const limits = ['--per-minute', '100', '--per-day', '2'];
  const created = await petstore(['keys', 'create', '--plan', 'enterprise', ...limits, '--json'], { environment });
  const { key } = expectKey(JSON.parse(created.stdout));
  const { code, broken, findings } = await check(['--url', url], withKey(key));
  expect([code, broken]).toEqual([0, []]);
  const limited = findings.filter(({ ok, seen }) => ok === null && /^429.*: repeat the check when/.test(seen));
  expect(limited.length).toBeGreaterThan(10);
});

test('nothing but GET is sent to what is not the service, and its text cannot command a terminal', async () => {
  const methods: (string | undefined)[] = [];
  await using other = await startHttpServer((request, response) => {
    methods.push(request.method);
    response.writeHead(200, { 'content-type': 'text/html' }).end('\u001b[31mAnother service');
  });
  const { code, stdout } = await petstore(['check', '--url', other.origin, '--key', KEYS.internal.text]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^BROKEN {3}the OpenAPI document needs no key: 200 \(text\/html\): \?\[31mAnother service/);
  expect(methods).toEqual(['GET', 'GET']);
});

test('an answer that breaks off is broken', async () => {
  await using cutting = await startHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{', () => response.destroy());
  });
  const { code, broken } = await check(['--url', cutting.origin]);
  expect(code).toBe(1);
  expect(broken[0]?.seen).toMatch(/^the answer broke off: /);
});

test('headers of a list that something in between has changed are broken', async () => {
  await using changing = await startHttpServer(async (request, response) => {
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>; // none comes twice
    const answer = await fetch(url + request.url, { method: request.method ?? '', headers, redirect: 'manual' });
    const changed = answer.ok && request.url === '/v1/store/orders' && { 'cache-control': 'max-age=60' };
    response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...changed });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  const { code, broken } = await check(['--url', changing.origin], withKey(KEYS.free.text));
  expect(code).toBe(1);
  expect(broken).toContainEqual({
    check: 'the list says that nobody may keep it',
    ok: false,
    seen: 'Cache-Control is max-age=60, and the service sent no-store',
  });
});

describe('where nothing answers, a proxy of the shell that Node does not use', () => {
  const PROXY = 'http://127.0.0.1:9';
  const seenAt = async (address: string, environment: Record<string, string>) =>
    (await check(['--url', address], { environment })).broken[0]?.seen;

  test.each([
    ['HTTPS_PROXY', 'https://shop.invalid', {}],
    ['https_proxy', 'https://shop.invalid', { HTTP_PROXY: PROXY }],
    ['HTTP_PROXY', 'http://shop.invalid', { HTTPS_PROXY: PROXY, NO_PROXY: 'localhost,other.invalid,op.invalid' }],
  ])('is named: %s for %s', async (name, address, environment) => {
    expect(await seenAt(address, { [name]: PROXY, ...environment })).toContain(
      `; ${name} is set, and Node heeds it with NODE_USE_ENV_PROXY=1 only`,
    );
  });

  test.each([
    ['http://shop.invalid', { HTTPS_PROXY: PROXY }],
    ['https://shop.invalid', { HTTP_PROXY: PROXY }],
    ['https://shop.invalid', { HTTPS_PROXY: PROXY, NODE_USE_ENV_PROXY: '1' }],
    ['https://shop.invalid', { HTTPS_PROXY: PROXY, NO_PROXY: '*' }],
    ['https://api.shop.invalid', { HTTPS_PROXY: PROXY, NO_PROXY: 'localhost, .shop.invalid' }],
    ['https://shop.invalid', { HTTPS_PROXY: PROXY, no_proxy: 'localhost,shop.invalid:443' }],
    ['http://localhost:1', { HTTP_PROXY: PROXY }],
    ['http://127.0.0.1:1', { HTTP_PROXY: PROXY }],
    ['http://[::1]:1', { HTTP_PROXY: PROXY }],
  ])('is not named if curl would not use it either: for %s with %o', async (address, environment) => {
    expect(await seenAt(address, environment)).not.toContain('PROXY');
  });
});

test('an address at which nobody answers is broken', async () => {
  const { code, broken } = await check(['--url', `http://127.0.0.1:${await findFreePort()}`]);
  expect(code).toBe(1);
  expect(broken[0]?.seen).toMatch(/^no answer: .*ECONNREFUSED/);
});

describe('wrong usage ends with 2', () => {
  test.each([
    [['--key', KEYS.free.text], {}, "required option '--url <url>' not specified"],
    [['--url', 'ftp://host'], {}, '--url must be an http or https address'],
    [['--url', 'https://user:secret@host'], {}, '--url must be an http or https address'],
    [['--url', 'https://host/?a=b'], {}, '--url must be an http or https address'],
    [['--url', 'https://host', '--key', 'secret'], {}, '--key must be a whole API key'],
    [['--url', 'https://host'], { PETSTORE_API_KEY: 'secret' }, 'PETSTORE_API_KEY must be a whole API key'],
  ])('%j', async (args, environment, complaint) => {
    const { code, stdout, stderr } = await petstore(['check', ...args], { environment });
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(complaint)]);
    expect(stderr).not.toContain('secret');
  });
});
