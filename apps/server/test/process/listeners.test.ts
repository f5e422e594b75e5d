import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StartedServer, startServer } from '../support/spawned-server.ts';

/** Another address of this machine that only itself can call. */
const ANOTHER = '127.0.0.2';

const onHost = (url: string, hostname: string): string => Object.assign(new URL(url), { hostname }).href;

describe('with HOST and a SECURITY_CONTACT', () => {
  const CONTACT = 'mailto:security@shop.example';
  const beforeStartMs = Date.now();
  let started: StartedServer;
  beforeAll(async () => {
    started = await startServer({
      HOST: ANOTHER,
      SECURITY_CONTACT: CONTACT,
      PUBLIC_BASE_URL: 'https://api.shop.example/x/v1',
    });
  });
  afterAll(() => started[Symbol.asyncDispose]());

  test('health and metrics listen on 127.0.0.1 wherever HOST is', async () => {
    const url = await started.server.url();
    const adminUrl = await started.server.adminUrl();
    expect(new URL(url).hostname).toBe(ANOTHER);
    expect(new URL(adminUrl).hostname).toBe('127.0.0.1');
    expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/readyz`, ANOTHER))).rejects.toThrow('fetch failed');
  });

  test('/.well-known/security.txt names the contact without a key, for a year', async () => {
    const response = await fetch(`${await started.server.url()}/.well-known/security.txt`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    const fields = (await response.text()).trimEnd().split('\n');
    expect(fields).toEqual([
      `Contact: ${CONTACT}`,
      expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      'Preferred-Languages: en',
      'Canonical: https://api.shop.example/.well-known/security.txt',
    ]);
    const expiresMs = Date.parse(fields[1]?.slice('Expires: '.length) ?? '');
    expect(expiresMs).toBeGreaterThanOrEqual(beforeStartMs + 364 * 86_400_000);
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + 366 * 86_400_000);
  });
});

describe('with ADMIN_HOST', () => {
  let started: StartedServer;
  beforeAll(async () => {
    started = await startServer({ ADMIN_HOST: ANOTHER });
  });
  afterAll(() => started[Symbol.asyncDispose]());

  test('health and metrics listen on ADMIN_HOST, and the log names it', async () => {
    const url = await started.server.url();
    const adminUrl = await started.server.adminUrl();
    expect([new URL(url).hostname, new URL(adminUrl).hostname]).toEqual(['127.0.0.1', ANOTHER]);
    expect((await fetch(`${adminUrl}/metrics`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/metrics`, '127.0.0.1'))).rejects.toThrow('fetch failed');
    expect(started.server.stdout).toContain(`"host":"${ANOTHER}","msg":"serving health and metrics"`);
  });

  test('/.well-known/security.txt does not exist without a SECURITY_CONTACT', async () => {
    const response = await fetch(`${await started.server.url()}/.well-known/security.txt`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'route_not_found' });
  });
});

/** The address of the service in its OpenAPI document. */
async function documentedUrl(url: string): Promise<unknown> {
  const { servers } = await (await fetch(`${url}/v1/openapi.json`)).json();
  return servers[0].url;
}

test('the document names the address of the listener, and of several none', async () => {
  await using one = await startServer({ HOST: ANOTHER });
  const url = await one.server.url();
  expect(await documentedUrl(url)).toBe(`${url}/v1`);
  await using all = await startServer({ HOST: '0.0.0.0' });
  expect(await documentedUrl(onHost(await all.server.url(), ANOTHER).replace(/\/$/, ''))).toBe('../v1');
});
