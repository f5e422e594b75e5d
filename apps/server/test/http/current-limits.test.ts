import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { expectError } from './support/expect-error.ts';
import { createBannedKey, useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const app = await useTestApp();

const remainingOf = (response: { headers: Headers }) => Number(response.headers.get('x-ratelimit-remaining'));
const current = (key: string) => query(app, 'limits.current', undefined, { key });
const keyOf = async (perMinute: number) => (await createKey(app.persistence, { plan: planOf(perMinute, 1_000) })).text;

describe('limits.current and GET /v2/limits', () => {
  test.each([
    ['an external key', {}],
    ['a read-only key', { readOnly: true }],
    ['an internal key', { kind: 'internal' }],
  ] as const)('are requests of %s like any other, HEAD too, and tell what the headers do', async (_, kind) => {
    const { text: key } = await createKey(app.persistence, { ...kind, plan: planOf(5, 1_000) });
    await app.fetch('/v1/pets/1', { key });
    expect(remainingOf(await app.fetch('/v2/limits', { key, method: 'HEAD' }))).toBe(3);
    const rest = await app.fetch('/v2/limits', { key });
    expect([rest.status, remainingOf(rest)]).toEqual([200, 2]);
    expect(await rest.json()).toMatchObject({ minute: { limit: 5, used: 3, remaining: 2 }, refusals: 0 });
    const trpc = await current(key);
    expect([trpc.status, remainingOf(trpc)]).toEqual([200, 1]);
    expect(trpc.data).toMatchObject({ minute: { limit: 5, used: 4, remaining: 1 }, day: { used: 4 } });
  });

  test('cost one for each call of a batch', async () => {
    const key = await keyOf(5);
    const response = await app.fetch('/trpc/limits.current,limits.current,pets.get?batch=1&input=%7B%7D', { key });
    expect(remainingOf(response)).toBe(2);
  });

  test('are refused to a key that has nothing left, and then tell its refusals', async () => {
    const key = await keyOf(1);
    await app.fetch('/v1/pets/1', { key });
    await expectError(await app.fetch('/v2/limits', { key }), 'rate_limit_exceeded');
    expect(await current(key)).toMatchObject({ status: 429, error: { data: { errorCode: 'rate_limit_exceeded' } } });
    app.advanceLimiterClock(61_000);
    expect((await current(key)).data).toMatchObject({ minute: { remaining: 0 }, refusals: 0 });
  });

  test('are refused to a banned key', async () => {
    const key = await createBannedKey(app);
    await expectError(await app.fetch('/v2/limits', { key }), 'api_key_banned');
  });
});
