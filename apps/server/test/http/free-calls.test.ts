import type { RateLimiter } from '@petstore/rate-limit';
import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { expectError, expectRateLimitHeaders } from './support/expect-error.ts';
import { openRaw, type RawResponse, request, sendRaw } from './support/raw-http.ts';
import { overriding } from './support/replaced-parts.ts';
import { createBannedKey, startTestApp, type TestApp, useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const ORIGIN = 'https://shop.example';

/** An app that counts the calls of its limiter that go to Redis. */
async function startCountingApp() {
  const calls = { check: 0, peek: 0 };
  const limiter = (real: RateLimiter) =>
    overriding(real, {
      check(subject, cost) {
        const decision = real.check(subject, cost);
        if (decision instanceof Promise) calls.check++;
        return decision;
      },
      peek(subject) {
        calls.peek++;
        return real.peek(subject);
      },
    });
  return { app: await startTestApp({ corsOrigins: [ORIGIN], wrap: { limiter } }), calls };
}

const current = (app: TestApp, key: string) => query(app, 'limits.current', undefined, { key });

/** Calls it on one connection, one time after the other. */
async function sendCurrent({ port }: TestApp, key: string, count: number): Promise<RawResponse[]> {
  using connection = await openRaw({ port });
  const responses: RawResponse[] = [];
  for (let i = 0; i < count; i++) {
    connection.write(request('/trpc/limits.current', key));
    responses.push(await connection.read());
  }
  return responses;
}

const statusesOfCurrent = async (app: TestApp, key: string, count: number) =>
  (await sendCurrent(app, key, count)).map(({ status }) => status);

describe('limits.current and GET /v2/limits', async () => {
  const shared = await useTestApp();
  const remainingOf = (response: { headers: Headers }) => Number(response.headers.get('x-ratelimit-remaining'));
  const keyOf = (perMinute: number) => createKey(shared.persistence, { plan: planOf(perMinute, 1_000) });

  test.each([
    ['an external key', {}],
    ['a read-only key', { readOnly: true }],
    ['an internal key', { kind: 'internal' }],
  ] as const)('cost %s nothing, HEAD neither, and say the same, as the headers do', async (_, kind) => {
    const { text: key } = await createKey(shared.persistence, { ...kind, plan: planOf(5, 1_000) });
    await shared.fetch('/v1/pets/1', { key });
    await shared.fetch('/v2/limits', { key, method: 'HEAD' });
    const rest = await shared.fetch('/v2/limits', { key });
    const trpc = await query(shared, 'limits.current', undefined, { key });
    expect([rest.status, remainingOf(rest), trpc.status, remainingOf(trpc)]).toEqual([200, 4, 200, 4]);
    const limits = await rest.json();
    expect(limits).toMatchObject({ minute: { limit: 5, used: 1, remaining: 4 }, refusals: 0, ban: null });
    expect(limits).toEqual(JSON.parse(JSON.stringify(trpc.data)));
  });

  test('work for a key that has nothing left, and tell its refusals', async () => {
    const { text: key } = await keyOf(1);
    for (const status of [404, 429, 429]) expect((await shared.fetch('/v1/pets/1', { key })).status).toBe(status);
    const limits = { minute: { remaining: 0 }, refusals: 2 };
    expect(await (await shared.fetch('/v2/limits', { key })).json()).toMatchObject(limits);
    expect(await query(shared, 'limits.current', undefined, { key })).toMatchObject({ status: 200, data: limits });
  });

  test.each(['pets.get,pets.get', 'limits.current,limits.current'])(
    'are free once in a batch, and make none of its other calls free: %s',
    async (others) => {
      const { text: key } = await keyOf(5);
      const response = await shared.fetch(`/trpc/limits.current,${others}?batch=1&input=%7B%7D`, { key });
      expect(remainingOf(response)).toBe(3);
    },
  );
});

describe.concurrent('limits.current', () => {
  test('has a window of its own, with GET /v2/limits, 60 a minute, and reads the state once each time', async () => {
    const { app: counting, calls } = await startCountingApp();
    await using app = counting;
    const { text: key } = await createKey(app.persistence, { plan: { name: 'free' } });
    expect((await app.fetch('/v2/limits', { key })).status).toBe(200);
    expect(new Set(await statusesOfCurrent(app, key, 59))).toEqual(new Set([200]));
    expect(calls).toEqual({ check: 0, peek: 60 });
    await expectError(await app.fetch('/v2/limits', { key }), 'rate_limit_exceeded');
    const refused = await current(app, key);
    expect(refused).toMatchObject({ status: 429, error: { data: { errorCode: 'rate_limit_exceeded' } } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expectRateLimitHeaders({ headers: Object.fromEntries(refused.headers) });
    expect(new Set(await statusesOfCurrent(app, key, 100))).toEqual(new Set([429]));
    expect(calls).toEqual({ check: 0, peek: 60 });
    // Neither these calls nor the refused ones counted towards the limits of the key.
    const response = await app.fetch('/v1/pets/1', { key });
    expect(response.headers.get('x-ratelimit-remaining')).toBe('59');
    // Another key is not affected.
    expect((await current(app, app.key)).status).toBe(200);
  });

  test('counts in its own window in a batch, too, and then costs nothing else', async () => {
    await using app = await startTestApp();
    const { text: key } = await createKey(app.persistence, { plan: { name: 'free' } });
    await statusesOfCurrent(app, key, 60);
    const batch = await app.fetch('/trpc/limits.current,limits.current?batch=1&input=%7B%7D', { key });
    expect(batch.status).toBe(429);
    expect((await app.fetch('/v1/pets/1', { key })).headers.get('x-ratelimit-remaining')).toBe('59');
  });

  test('of a banned key is refused like any other call, without a call of Redis while the ban is remembered', async () => {
    const { app: counting, calls } = await startCountingApp();
    await using app = counting;
    const key = await createBannedKey(app);
    const before = { ...calls };
    const begin = performance.now();
    for (const { status, headers, body } of await sendCurrent(app, key, 200)) {
      expect([status, headers['x-ratelimit-remaining']]).toEqual([429, '0']);
      expect(body).toContain('"errorCode":"api_key_banned"');
    }
    // A ban is remembered for 5 s, and then read again.
    const looks = Math.floor((performance.now() - begin) / 5_000) + 1;
    expect(calls.peek - before.peek).toBeLessThanOrEqual(looks);
    expect(calls.check).toBe(before.check);
  });

  test('of a key that another process banned is refused after one call of Redis', async () => {
    const ban = { untilMs: Date.now() + 60_000, level: 1 };
    await using banned = await startTestApp({
      wrap: {
        limiter: (real) => overriding(real, { peek: async (subject) => ({ ...(await real.peek(subject)), ban }) }),
      },
    });
    const { text: key } = await createKey(banned.persistence, { plan: planOf(3, 1_000_000) });
    expect(await current(banned, key)).toMatchObject({
      status: 429,
      error: { data: { errorCode: 'api_key_banned' } },
    });
  });
});

describe('preflights', () => {
  test('are limited to 600 a minute of an address, without a call of Redis', async () => {
    const { app: counting, calls } = await startCountingApp();
    await using app = counting;
    const preflight =
      `OPTIONS /v1/store/orders HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\n` +
      'Access-Control-Request-Method: GET\r\n\r\n';
    const responses = await sendRaw(preflight.repeat(620), { port: app.port, count: 620 });
    expect(responses.map(({ status }) => status)).toEqual([...Array(600).fill(204), ...Array(20).fill(429)]);
    for (const { headers, body } of responses.slice(600)) {
      expect(JSON.parse(body)).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
      expect(headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expect(calls).toEqual({ check: 0, peek: 0 });
    // They did not count towards the limit of the address.
    const keyless = await app.fetch('/v1/store/orders', { key: null });
    expect(keyless.headers.get('x-ratelimit-remaining')).toBe('599');
  });
});
