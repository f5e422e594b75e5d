import { createTestDatabase, createTestRedis } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { ServerUnderTest, useDataFolder } from './support/server-process.ts';

/** Another address of this machine that only itself can call. */
const ANOTHER = '127.0.0.2';

async function useServer(environment: Record<string, string>) {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(toAsync(useDataFolder()));
  const database = resources.use(await createTestDatabase());
  const redis = resources.use(await createTestRedis());
  const settings = { DATABASE_URL: database.url, REDIS_URL: redis.url, ...environment };
  const server = resources.use(new ServerUnderTest(folder.path, settings));
  const owned = resources.move();
  return { server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const toAsync = <Value extends Disposable>(value: Value) =>
  Object.assign(value, { [Symbol.asyncDispose]: async () => value[Symbol.dispose]() });

const onHost = (url: string, hostname: string): string => Object.assign(new URL(url), { hostname }).href;

describe('health and metrics', () => {
  test('listen on 127.0.0.1 wherever HOST is', async () => {
    await using used = await useServer({ HOST: ANOTHER });
    const url = await used.server.url();
    const adminUrl = await used.server.adminUrl();
    expect(new URL(url).hostname).toBe(ANOTHER);
    expect(new URL(adminUrl).hostname).toBe('127.0.0.1');
    expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/readyz`, ANOTHER))).rejects.toThrow('fetch failed');
  });

  test('listen on ADMIN_HOST where that is set, and the log names it', async () => {
    await using used = await useServer({ ADMIN_HOST: ANOTHER });
    const url = await used.server.url();
    const adminUrl = await used.server.adminUrl();
    expect([new URL(url).hostname, new URL(adminUrl).hostname]).toEqual(['127.0.0.1', ANOTHER]);
    expect((await fetch(`${adminUrl}/metrics`)).status).toBe(200);
    await expect(fetch(onHost(`${adminUrl}/metrics`, '127.0.0.1'))).rejects.toThrow('fetch failed');
    expect(used.server.stdout).toContain(`"host":"${ANOTHER}","msg":"health and metrics are served"`);
  });
});

test('a start logs once which risks its settings take', async () => {
  await using used = await useServer({ TRUST_PROXY: 'true', HOST: '127.1' });
  await used.server.url();
  const lines = used.server.stdout.split('\n');
  expect(
    lines.filter((line) => /"level":"warn".*TRUST_PROXY is true: .* set it to the addresses/.test(line)),
  ).toHaveLength(1);
  expect(lines.filter((line) => /"level":"info".*TLS has to end in front/.test(line))).toHaveLength(1);
  const asRoot = process.getuid?.() === 0 ? 1 : 0;
  expect(
    lines.filter((line) => /"level":"warn".*the server runs as root; use an ordinary user/.test(line)),
  ).toHaveLength(asRoot);
});

describe('/.well-known/security.txt', () => {
  test('tells SECURITY_CONTACT to everybody, for a year', async () => {
    const startMs = Date.now();
    const contact = 'mailto:security@shop.example';
    await using used = await useServer({ SECURITY_CONTACT: contact, PUBLIC_BASE_URL: 'https://api.shop.example/x/v1' });
    const answer = await fetch(`${await used.server.url()}/.well-known/security.txt`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect([...answer.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    const fields = (await answer.text()).trimEnd().split('\n');
    expect(fields).toEqual([
      `Contact: ${contact}`,
      expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      'Preferred-Languages: en',
      'Canonical: https://api.shop.example/.well-known/security.txt',
    ]);
    const expiresMs = Date.parse(fields[1]?.slice('Expires: '.length) ?? '');
    expect(expiresMs).toBeGreaterThanOrEqual(startMs + 365 * 86_400_000);
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + 366 * 86_400_000);
  });

  test('is not there without', async () => {
    await using used = await useServer({});
    const answer = await fetch(`${await used.server.url()}/.well-known/security.txt`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: 'route_not_found' });
  });
});
