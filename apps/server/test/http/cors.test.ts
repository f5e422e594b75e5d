import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

const SHOP = 'https://shop.example';
const app = await useTestApp({ corsOrigins: [SHOP, 'http://localhost:5173'], keysMayEnd: true });

const preflight = (path: string, origin: string, method = 'DELETE') =>
  app.fetch(path, {
    method: 'OPTIONS',
    key: null,
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' },
  });

describe('an origin of CORS_ORIGINS', () => {
  test.each([
    '/v1/store/orders',
    '/v2/store/orders',
    '/v1/store/orders/1',
    '/v1/pets/1',
    '/trpc/orders.list',
    '/v1/unknown',
  ])('may send preflights without a key: %s', async (path) => {
    const response = await preflight(path, SHOP);
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': expect.stringContaining('Authorization'),
      'access-control-max-age': '7200',
      vary: expect.stringContaining('Origin'),
      'x-ratelimit-limit': '600',
    });
  });

  test.each(['/v1/openapi.json', '/docs'])('may send preflights for what needs no key: %s', async (path) => {
    const response = await preflight(path, SHOP, 'GET');
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-headers')).toContain('If-None-Match');
    expect(response.headers.has('x-ratelimit-limit')).toBe(false);
  });

  test('may send preflights that count towards no limit of their address', async () => {
    for (let sent = 0; sent < 5; sent++) expect((await preflight('/v1/store/orders', SHOP)).status).toBe(204);
    const keyless = await app.fetch('/v1/store/orders', { key: null });
    expect([keyless.status, keyless.headers.get('x-ratelimit-remaining')]).toEqual([401, '599']);
  });

  test('may send each header that is read, and whatever libraries add', async () => {
    const allowed = (await preflight('/trpc/orders.events', SHOP, 'GET')).headers.get('access-control-allow-headers');
    const read = 'Authorization, Content-Type, If-None-Match, trpc-accept, User-Agent, X-Request-Id';
    expect(allowed).toBe(`${read}, traceparent, *`);
  });

  test('may read each header that tells it something, whatever the status', async () => {
    const ofBrowsers = ['cache-control', 'content-length', 'content-type']; // readable without permission
    const ofTheConnection = ['connection', 'content-encoding', 'date', 'keep-alive', 'transfer-encoding', 'vary'];
    const ofPages = ['content-security-policy', 'referrer-policy', 'x-content-type-options'];
    const { text: key } = await createKey(app.persistence, { expiresAt: new Date(Date.now() + 86_400_000) });
    for (const [method, path] of [
      ['GET', '/v1/store/orders'],
      ['GET', '/v2/store/orders?limit=1'],
      ['GET', '/v1/pets/404'],
      ['PUT', '/v1/pets/1'],
      ['GET', '/v1/openapi.json'],
      ['GET', '/docs'],
      ['GET', '/trpc/orders.list'],
    ] as const) {
      const { headers } = await app.fetch(path, { method, key, headers: { origin: SHOP } });
      const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ') ?? [];
      const others = new Set([...ofBrowsers, ...ofTheConnection, ...ofPages, ...exposed]);
      const hidden = [...headers.keys()].filter((name) => !others.has(name) && !name.startsWith('access-control-'));
      expect(hidden, path).toEqual([]);
    }
  });

  test.each([
    [200, '/v1/store/orders', undefined],
    [401, '/v1/store/orders', 'unknown'],
    [404, '/v1/store/orders/x/y', undefined],
    [400, '/v1/store/orders/%', undefined],
    [404, '/trpc/nothing', undefined],
  ])('may read a %i, with its rate limit headers: %s', async (status, path, key) => {
    const response = await app.fetch(path, { headers: { origin: SHOP }, ...(key !== undefined && { key }) });
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
    for (const name of ['X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'RateLimit', 'X-Request-Id']) {
      expect(response.headers.get('access-control-expose-headers')).toContain(name);
    }
  });

  test('may read a 429', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(1) });
    await app.fetch('/v1/pets/1', { key });
    const response = await app.fetch('/v1/pets/1', { key, headers: { origin: SHOP } });
    expect(response.status).toBe(429);
    expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect(response.headers.get('access-control-expose-headers')).toContain('Retry-After');
  });
});

describe('any other origin', () => {
  test.each([
    'https://evil.example',
    'https://shop.example.evil',
    'http://shop.example',
    'null',
    'https://SHOP.example',
  ])('%s gets no CORS headers', async (origin) => {
    const response = await app.fetch('/v1/store/orders', { headers: { origin } });
    expect(response.status).toBe(200);
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
    expect(response.headers.get('vary')).toContain('Origin');
  });

  test('needs a key for OPTIONS like any other client', async () => {
    expect((await preflight('/v1/store/orders', 'https://evil.example')).status).toBe(401);
  });
});

test('what needs no key is readable from any origin, with and without CORS_ORIGINS', async () => {
  await using plain = await startTestApp();
  for (const service of [app, plain]) {
    for (const path of ['/v1/openapi.json', '/v1/openapi.yaml', '/v2/openapi.json', '/llms.txt', '/docs']) {
      for (const origin of [SHOP, 'https://editor.example']) {
        const read = await service.fetch(path, { key: null, headers: { origin } });
        expect([read.status, read.headers.get('access-control-allow-origin')], path).toEqual([200, '*']);
        expect(read.headers.get('access-control-expose-headers')).toContain('ETag');
      }
      const headers = { origin: 'https://editor.example', 'access-control-request-method': 'GET' };
      const asked = await service.fetch(path, { key: null, method: 'OPTIONS', headers });
      expect([asked.status, asked.headers.get('access-control-allow-origin')], path).toEqual([204, '*']);
      expect(asked.headers.get('access-control-allow-headers')).toContain('If-None-Match');
    }
  }
});

test('without CORS_ORIGINS there are no CORS headers where a key is needed', async () => {
  await using plain = await startTestApp();
  const response = await plain.fetch('/v1/store/orders', { headers: { origin: SHOP } });
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
    [],
  );
});

test('the Vary header of tRPC is kept', async () => {
  const response = await app.fetch('/trpc/pets.get', { headers: { origin: SHOP } });
  expect(response.headers.get('vary')).toBe('Origin, trpc-accept, accept');
});
