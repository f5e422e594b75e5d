import type { ErrorCode } from '@petstore/api';
import type { ApiKeyId, Plan } from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import superjson from 'superjson';
import { describe, expect, test } from 'vitest';
import { createKey, placeOrder, planOf, rotateKey } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { sendOne } from './support/raw-http.ts';
import { startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

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
    ['quotes around a key', `Bearer "${app.key}"`, 'invalid_api_key'],
    ['a very long token', `Bearer ${'x'.repeat(8_000)}`, 'invalid_api_key'],
  ])('%s', async (_, header, code) => {
    const response = await expectError(await list(header), code);
    expectRateLimitHeaders(response);
    expect(response.headers['x-ratelimit-limit']).toBe('600');
    const challenge = response.headers['www-authenticate'];
    expect(challenge).toMatch(/^Bearer /);
    expect(challenge?.includes('error="invalid_token"')).toBe(code === 'invalid_api_key');
  });

  test.each(['x-api-key', 'api_key'])('cannot be replaced by %s, whose key is not repeated', async (name) => {
    const headers = { [name]: app.key, 'x-forwarded-for': `198.51.100.${++clients}` };
    const sent = await app.fetch('/v1/store/orders', { key: null, headers });
    const response = await expectError(sent, 'missing_api_key');
    expect(response.body).toContain('Authorization: Bearer <API_KEY>');
    expect(response.body).not.toContain(app.key);
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
    await using own = await startTestApp({ clock, keysMayEnd: true });
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

describe('key.current and GET /v2/key', () => {
  test.each([
    ['an external key', { kind: 'external', readOnly: false }],
    ['a read-only key', { kind: 'external', readOnly: true }],
    ['an internal key', { kind: 'internal', readOnly: false }],
  ] as const)('describe %s to itself, and until when each of its secrets is valid', async (_, own) => {
    const [expiresAt, overlapEnds] = [new Date('2998-12-31T00:00:00.000Z'), new Date('2997-12-31T00:00:00.000Z')];
    const { id, text } = await createKey(app.persistence, { ...own, plan: { name: 'pro' }, expiresAt });
    const { key: rotated, text: newText } = await rotateKey(app.persistence, id, overlapEnds);
    for (const [key, end] of [
      [text, overlapEnds],
      [newText, expiresAt],
    ] as const) {
      const shown = { id, name: 'test', plan: 'pro', ...own };
      const rest = await app.fetch('/v2/key', { key });
      const { createdAt } = rotated;
      expect(await rest.json()).toEqual({ ...shown, createdAt: createdAt.toISOString(), expiresAt: end.toISOString() });
      expect((await query(app, 'key.current', undefined, { key })).data).toEqual({
        ...shown,
        createdAt,
        expiresAt: end,
      });
    }
  });
});

describe('a key is never sent back', () => {
  test.each(['/v1/KEY', '/trpc/KEY', '/v1/store/orders/KEY', '/v1/pets/KEY%', '/KEY'])('from %s', async (path) => {
    const response = await app.fetch(path.replace('KEY', app.key), { headers: { 'x-request-id': app.key } });
    expect(response.ok).toBe(false);
    expect(await response.text()).not.toContain(app.key);
    expect(JSON.stringify([...response.headers])).not.toContain(app.key);
  });
});

describe('without a key', () => {
  const sendFrom = (address: string) =>
    app.fetch('/v1/store/orders', { key: null, headers: { 'x-forwarded-for': address } });

  test('all addresses of one IPv6 /64 are one client', async () => {
    const remaining = async (address: string) => (await sendFrom(address)).headers.get('x-ratelimit-remaining');
    expect(await remaining('2001:db8:1:2::1')).toBe('599');
    expect(await remaining('2001:db8:1:2:ffff::9')).toBe('598');
    expect(await remaining('2001:db8:1:3::1')).toBe('599');
  });

  test('a wrong key costs a right one nothing, and a batch costs 1', async () => {
    const { text: key } = await createKey(app.persistence, { plan: planOf(10) });
    const from = { 'x-forwarded-for': '203.0.113.4' };
    const batch = await app.fetch('/trpc/a,b,c,d?batch=1', { key: typo(key), headers: from });
    expect(batch.headers.get('x-ratelimit-remaining')).toBe('599');
    expect((await app.fetch('/v1/store/orders', { key })).headers.get('x-ratelimit-remaining')).toBe('9');
  });
});

/** For how long a process remembers a key. */
const CACHED_MS = 5_000;

const limitOf = (response: Response) => response.headers.get('x-ratelimit-limit');
const look = (app: TestApp, key: string) => app.fetch('/v1/pets/1', { key });
const limitPerMinute = (app: TestApp, key: string) => query(app, 'limits.current', undefined, { key });

const setPlan = (app: TestApp, id: ApiKeyId, plan: Plan) =>
  app.persistence.keyAdministration.setPlan(id, plan, new Date());

describe('a change of plan', () => {
  test('raises and lowers the limits within 5 s, in headers and in limits.current', async () => {
    let nowMs = 0;
    await using app = await startTestApp({ monotonicNowMs: () => nowMs });
    const { id, text: key } = await createKey(app.persistence, { plan: planOf(2) });
    for (let i = 0; i < 2; i++) expect((await look(app, key)).status).toBe(404);
    expect(limitOf(await look(app, key))).toBe('2');

    await setPlan(app, id, { name: 'business' });
    nowMs += CACHED_MS;
    const raised = await look(app, key);
    expect([raised.status, limitOf(raised), raised.headers.get('x-ratelimit-remaining')]).toEqual([404, '1000', '997']);
    expect(raised.headers.get('ratelimit-policy')).toBe('"minute";q=1000;w=60, "day";q=100000;w=86400');
    expect(await limitPerMinute(app, key)).toMatchObject({ data: { minute: { limit: 1_000, remaining: 996 } } });

    await setPlan(app, id, planOf(2));
    nowMs += CACHED_MS;
    const lowered = await look(app, key);
    expect(limitOf(lowered)).toBe('2');
    await expectError(lowered, 'rate_limit_exceeded');
    app.advanceLimiterClock(61_000);
    expect(await limitPerMinute(app, key)).toMatchObject({ data: { minute: { limit: 2, remaining: 1 } } });
    expect((await look(app, key)).status).toBe(404);
  });
});

describe('read-only keys', async () => {
  const { text: key } = await createKey(app.persistence, { readOnly: true });
  const { id } = await placeOrder(app.persistence);
  const cancel = (path: string, of = key) => app.fetch(path, { method: 'DELETE', key: of });

  describe.each(['/v1/store/orders', '/v2/store/orders'])('a read-only key under %s', (path) => {
    test.each(['GET', 'HEAD'])('may send %s', async (method) => {
      expect((await app.fetch(path, { method, key })).status).toBe(200);
    });

    test.each([String(id), 'x', '1?unknown=1'])(
      'may not cancel, and learns nothing of what it asks for: %s',
      async (shown) => {
        const refused = await expectError(await cancel(`${path}/${shown}`), 'insufficient_scope');
        expect(refused.headers['www-authenticate']).toBe('Bearer realm="petstore", error="insufficient_scope"');
        expect(refused.body).toContain('Ask the operator of the service');
        expectRateLimitHeaders(refused);
      },
    );

    test('is told the path, the method and an unknown key first', async () => {
      await expectError(await cancel(`${path}/1/2`), 'route_not_found');
      await expectError(await cancel(path), 'method_not_allowed');
      await expectError(await cancel(`${path}/1`, key.replace(/^pso_demo/, 'pso_live')), 'invalid_api_key');
    });

    test('has its refused requests counted like any other, and is told its limit first', async () => {
      const { text: limited } = await createKey(app.persistence, { readOnly: true, plan: planOf(2) });
      const remaining = [await cancel(`${path}/1`, limited), await cancel(`${path}/1`, limited)];
      expect(remaining.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['1', '0']);
      await expectError(await cancel(`${path}/1`, limited), 'rate_limit_exceeded');
    });
  });

  describe('a read-only key over tRPC', () => {
    test('is refused each mutation of a batch', async () => {
      const response = await app.fetch('/trpc/orders.cancel,orders.nothing,orders.cancel?batch=1', {
        method: 'POST',
        key,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          0: superjson.serialize({ orderId: id }),
          1: {},
          2: superjson.serialize({ orderId: 404n }),
        }),
      });
      const refusal = { error: { json: { data: { code: 'FORBIDDEN', errorCode: 'insufficient_scope' } } } };
      const unknown = { error: { json: { data: { errorCode: 'route_not_found' } } } };
      expect(await response.json()).toMatchObject([refusal, unknown, refusal]);
    });
  });

  test('a read-only key has changed nothing', async () => {
    expect((await query(app, 'orders.get', { orderId: id })).data).toMatchObject({ id, status: 'pending' });
  });
});

describe('a key that expires within 14 days says so', () => {
  const DAY_MS = 86_400_000;
  const expiresAt = new Date('2027-03-01T12:00:00.999Z');
  const clock = manualClock(new Date(expiresAt.getTime() - 14 * DAY_MS - 1));
  const HTTP_DATE = 'Mon, 01 Mar 2027 12:00:00 GMT';

  test('in every response, over REST and over tRPC, from that moment on', async () => {
    await using own = await startTestApp({ clock, keysMayEnd: true });
    const { text: key } = await createKey(own.persistence, { expiresAt });
    const { id } = await placeOrder(own.persistence);
    const announced = async () => {
      const responses = [
        await own.fetch('/v1/store/orders', { key }),
        await own.fetch('/v2/store/orders', { key }),
        await own.fetch(`/v1/store/orders/${id}`, { key, method: 'DELETE' }),
        await own.fetch('/v1/store/orders/x', { key, method: 'DELETE' }),
        await own.fetch('/v1/unknown', { key }),
        await own.fetch('/trpc/limits.current', { key }),
        await own.fetch('/trpc/limits.current,x?batch=1', { key, headers: { 'trpc-accept': 'application/jsonl' } }),
        await own.fetch('/trpc/unknown', { key }),
      ];
      return responses.map(({ headers }) => headers.get('x-api-key-expires'));
    };
    expect(new Set(await announced())).toEqual(new Set([null]));
    clock.advance(1);
    expect(new Set(await announced())).toEqual(new Set([HTTP_DATE]));
    const { text: spent } = await createKey(own.persistence, { plan: planOf(1), expiresAt });
    await own.fetch('/v1/store/orders', { key: spent });
    const refused = await expectError(await own.fetch('/v1/store/orders', { key: spent }), 'rate_limit_exceeded');
    expect(refused.headers['x-api-key-expires']).toBe(HTTP_DATE);
    expect((await own.fetch('/v1/store/orders')).headers.has('x-api-key-expires')).toBe(false);
  });

  test('and so does a secret that was rotated, until its overlap ends', async () => {
    await using own = await startTestApp({ keysMayEnd: true });
    const { id, text: key } = await createKey(own.persistence);
    const overlapEndsAt = new Date(Date.now() + DAY_MS);
    await rotateKey(own.persistence, id, overlapEndsAt);
    const { headers } = await own.fetch('/v1/store/orders', { key });
    expect(headers.get('x-api-key-expires')).toBe(overlapEndsAt.toUTCString());
  });
});
