import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXTERNAL, IN_PROCESS, INTERNAL, KEY_CREATED_AT, READ_ONLY, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('key.current', () => {
  const id = 'abcd1234';
  const same = { id, name: 'test', plan: 'free', createdAt: KEY_CREATED_AT, expiresAt: null };

  test.each([
    [EXTERNAL, { kind: 'external', readOnly: false }],
    [INTERNAL, { kind: 'internal', readOnly: false }],
    [READ_ONLY, { kind: 'external', readOnly: true }],
  ] as const)('describes any key to itself', async (principal, own) => {
    expect(await api.callAs(principal).key.current()).toEqual({ ...same, ...own });
  });

  test('shows the same over REST, times as texts, and all its fields whether they have a value or not', async () => {
    if (EXTERNAL.type !== 'api-key') throw new Error('a key');
    const read = async (principal = EXTERNAL) => {
      const result = await api.callRest('getKey', {}, '', principal);
      return result.type === 'json' ? result.text : result.type;
    };
    const begin = '{"id":"abcd1234","name":"test","plan":"free","kind":"external","readOnly":false';
    expect(await read()).toBe(`${begin},"createdAt":"2026-10-01T12:00:00.000Z","expiresAt":null}`);
    const expiresAt = new Date('2027-01-02T03:04:05.678Z');
    expect(await read({ ...EXTERNAL, expiresAt })).toBe(
      `${begin},"createdAt":"2026-10-01T12:00:00.000Z","expiresAt":"2027-01-02T03:04:05.678Z"}`,
    );
  });

  test('is null for callers in the same process, who have no key', async () => {
    expect(await api.callAs(IN_PROCESS).key.current()).toBeNull();
  });
});
