import type { ErrorCode } from '@petstore/api';
import { manualClock } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { createKey, placeOrder, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { sendOne } from './support/raw-http.ts';
import { startTestApp, useTestApp } from './support/test-app.ts';

// Each request without a valid key is sent from an address of its own, so that they share no limit.
const app = await useTestApp({ trustedProxies: true });

let clients = 0;
const list = (authorization?: string) =>
  app.fetch('/v1/store/orders', {
    key: null,
    headers: { 'x-forwarded-for': `198.51.100.${++clients}`, ...(authorization !== undefined && { authorization }) },
  });

const typo = (key: string) => key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21);

describe('the Authorization header', () => {
  test.each(['Bearer', 'bEaReR', 'Bearer   ', 'Bearer\t'])(
    'with the scheme "%s" and a key is accepted',
    async (scheme) => {
      expect((await list(`${scheme} ${app.key}`)).status).toBe(200);
    },
  );

  test.each<[what: string, header: string | undefined, code: ErrorCode]>([
    ['none', undefined, 'missing_api_key'],
    ['another scheme', 'Basic dXNlcjpwYXNz', 'missing_api_key'],
    ['a bare key', app.key, 'missing_api_key'],
    ['Bearer alone', 'Bearer', 'missing_api_key'],
    ['a scheme that begins like Bearer', `Bearers ${app.key}`, 'missing_api_key'],
    ['an unknown key', `Bearer ${app.key.replace(/^pso_demo/, 'pso_live')}`, 'invalid_api_key'],
    ['a typo', `Bearer ${typo(app.key)}`, 'invalid_api_key'],
    ['a key and more', `Bearer ${app.key} x`, 'invalid_api_key'],
    ['a very long token', `Bearer ${'x'.repeat(8_000)}`, 'invalid_api_key'],
  ])('%s', async (_, header, code) => {
    const response = await expectError(await list(header), code);
    expectRateLimitHeaders(response);
    expect(response.headers['x-ratelimit-limit']).toBe('600');
    const challenge = response.headers['www-authenticate'];
    expect(challenge).toMatch(/^Bearer /);
    expect(challenge?.includes('error="invalid_token"')).toBe(code === 'invalid_api_key');
  });

  test('that occurs twice counts as its first', async () => {
    const response = await sendOne(
      `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\nAuthorization: Bearer y\r\n\r\n`,
      { port: app.port },
    );
    expect(response.status).toBe(200);
  });
});

describe('a key that is', () => {
  test('revoked is refused like an unknown one', async () => {
    const { id, text } = await createKey(app.persistence);
    expect((await list(`Bearer ${text}`)).status).toBe(200);
    await app.persistence.keyAdministration.revokeKey(id, new Date());
    app.forgetKey(id);
    const revoked = await expectError(await list(`Bearer ${text}`), 'invalid_api_key');
    const unknown = await expectError(await list('Bearer unknown'), 'invalid_api_key');
    expect(revoked.body).toBe(unknown.body);
  });

  test('expired is refused from that moment on, even while it is cached', async () => {
    const clock = manualClock(new Date());
    await using own = await startTestApp({ clock });
    const { text: key } = await createKey(own.persistence, { expiresAt: new Date(clock().getTime() + 1_000) });
    expect((await own.fetch('/v1/store/orders', { key })).status).toBe(200);
    clock.advance(999);
    expect((await own.fetch('/v1/store/orders', { key })).status).toBe(200);
    clock.advance(1);
    await expectError(await own.fetch('/v1/store/orders', { key }), 'invalid_api_key');
  });

  test('wrong has no effect', async () => {
    const { id } = await placeOrder(app.persistence);
    const cancel = (key: string) => app.fetch(`/v1/store/orders/${id}`, { method: 'DELETE', key });
    expect((await cancel('unknown')).status).toBe(401);
    expect((await cancel(app.key)).status).toBe(204);
  });
});

describe('a key is never sent back', () => {
  test.each(['/v1/KEY', '/trpc/KEY', '/v1/store/orders/KEY', '/v1/pets/KEY%', '/KEY'])('from %s', async (path) => {
    const response = await app.fetch(path.replace('KEY', app.key), { headers: { 'x-request-id': app.key } });
    expect(response.ok).toBe(false);
    expect(await response.text()).not.toContain(app.key);
    expect(JSON.stringify([...response.headers])).not.toContain(app.key);
  });

  test('into the log', () => {
    expect(app.logLines.length).toBeGreaterThan(0);
    expect(JSON.stringify(app.logLines)).not.toContain(app.key);
  });
});

describe('without a key', () => {
  const sendFrom = (address: string) =>
    app.fetch('/v1/store/orders', { key: null, headers: { 'x-forwarded-for': address } });

  test('an address may send 600 requests a minute, and sees what remains', async () => {
    for (let remaining = 599; remaining >= 0; remaining--) {
      const response = await sendFrom('203.0.113.1');
      expect([response.status, response.headers.get('x-ratelimit-remaining')]).toEqual([401, String(remaining)]);
    }
    await expectError(await sendFrom('203.0.113.1'), 'rate_limit_exceeded');
    expect((await sendFrom('203.0.113.2')).status).toBe(401);
  });

  test('all addresses of one IPv6 /64 are one client', async () => {
    const remaining = async (address: string) => (await sendFrom(address)).headers.get('x-ratelimit-remaining');
    expect(await remaining('2001:db8:1:2::1')).toBe('599');
    expect(await remaining('2001:db8:1:2:ffff::9')).toBe('598');
    expect(await remaining('2001:db8:1:3::1')).toBe('599');
  });

  test('a valid key of the same address is not affected', async () => {
    for (let i = 0; i < 610; i++) await sendFrom('203.0.113.3');
    const response = await app.fetch('/v1/store/orders', { headers: { 'x-forwarded-for': '203.0.113.3' } });
    expect(response.status).toBe(200);
  });

  test('a wrong key costs a right one nothing, and a batch costs 1', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const from = { 'x-forwarded-for': '203.0.113.4' };
    const batch = await app.fetch('/trpc/a,b,c,d?batch=1', { key: typo(key), headers: from });
    expect(batch.headers.get('x-ratelimit-remaining')).toBe('599');
    expect((await app.fetch('/v1/store/orders', { key })).headers.get('x-ratelimit-remaining')).toBe('9');
  });
});

test('X-Forwarded-For is not believed unless a proxy is trusted', async () => {
  await using plain = await startTestApp();
  const ask = (address: string) =>
    plain.fetch('/v1/store/orders', { key: null, headers: { 'x-forwarded-for': address } });
  expect((await ask('203.0.113.5')).headers.get('x-ratelimit-remaining')).toBe('599');
  expect((await ask('203.0.113.6')).headers.get('x-ratelimit-remaining')).toBe('598');
});
