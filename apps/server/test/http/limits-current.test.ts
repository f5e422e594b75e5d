import { describe, expect, test } from 'vitest';
import { createKey, planOf } from '../support/keys.ts';
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
