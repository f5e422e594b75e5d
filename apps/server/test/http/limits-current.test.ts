import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/database.ts';
import { useTestApp } from './support/test-app.ts';
import { query } from './support/trpc-calls.ts';

const shared = await useTestApp();

const remainingOf = (response: { headers: Headers }) => Number(response.headers.get('x-ratelimit-remaining'));
const keyOf = (perMinute: number) => createKey(shared.persistence, { plan: planOf(perMinute, 1_000) });

describe('limits.current', () => {
  test('costs nothing, and returns what the headers show', async () => {
    const { text: key } = await keyOf(5);
    expect(remainingOf(await query(shared, 'orders.list', undefined, { key }))).toBe(4);
    for (let i = 0; i < 10; i++) {
      const response = await query(shared, 'limits.current', undefined, { key });
      expect(response).toMatchObject({ status: 200, data: { minute: { limit: 5, used: 1, remaining: 4 }, ban: null } });
      expect(remainingOf(response)).toBe(4);
    }
  });

  test('works for a key that has nothing left', async () => {
    const { text: key } = await keyOf(1);
    await query(shared, 'pets.get', { petId: 1n }, { key });
    expect(await query(shared, 'pets.get', { petId: 1n }, { key })).toMatchObject({ status: 429 });
    expect(await query(shared, 'limits.current', undefined, { key })).toMatchObject({
      status: 200,
      data: { minute: { remaining: 0 } },
    });
  });

  test('makes no other call of its batch free', async () => {
    const { text: key } = await keyOf(5);
    const response = await shared.fetch('/trpc/limits.current,pets.get,pets.get?batch=1&input=%7B%7D', {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(remainingOf(response)).toBe(3);
  });

  test('is free once in a batch', async () => {
    const { text: key } = await keyOf(5);
    const response = await shared.fetch('/trpc/limits.current,limits.current,limits.current?batch=1&input=%7B%7D', {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(remainingOf(response)).toBe(3);
  });

  test('requires a key like any other procedure', async () => {
    expect((await shared.fetch('/trpc/limits.current', { headers: { authorization: '' } })).status).toBe(401);
  });
});

describe('GET /v2/limits', () => {
  test.each([
    ['an external key', {}],
    ['a read-only key', { readOnly: true }],
    ['an internal key', { kind: 'internal' }],
  ] as const)('costs %s nothing, HEAD neither, and says what limits.current says', async (_, kind) => {
    const { text: key } = await createKey(shared.persistence, { ...kind, plan: planOf(5, 1_000) });
    await shared.fetch('/v1/pets/1', { key });
    await shared.fetch('/v2/limits', { key, method: 'HEAD' });
    const response = await shared.fetch('/v2/limits', { key });
    expect([response.status, remainingOf(response)]).toEqual([200, 4]);
    const limits = await response.json();
    const { data } = await query(shared, 'limits.current', undefined, { key });
    expect(limits).toMatchObject({ minute: { limit: 5, used: 1, remaining: 4 }, refusals: 0, ban: null });
    expect(limits).toEqual(JSON.parse(JSON.stringify(data)));
  });

  test('works for a key that has nothing left, and tells its refusals', async () => {
    const { text: key } = await keyOf(1);
    for (const status of [404, 429, 429]) expect((await shared.fetch('/v1/pets/1', { key })).status).toBe(status);
    expect(await (await shared.fetch('/v2/limits', { key })).json()).toMatchObject({
      minute: { remaining: 0 },
      refusals: 2,
    });
  });

  test('has one window with limits.current, 60 a minute', async () => {
    const { text: key } = await keyOf(5);
    const send = (i: number) =>
      i % 2 === 0 ? shared.fetch('/v2/limits', { key }) : query(shared, 'limits.current', undefined, { key });
    for (let i = 0; i < 60; i++) expect((await send(i)).status).toBe(200);
    const refused = await shared.fetch('/v2/limits', { key });
    expect([refused.status, remainingOf(refused)]).toEqual([429, 5]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({ code: 'rate_limit_exceeded' });
    expect((await shared.fetch('/v1/pets/1', { key })).status).toBe(404);
  });
});
