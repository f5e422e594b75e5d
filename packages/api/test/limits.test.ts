import { apiKeySubject } from '@petstore/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXTERNAL, IN_PROCESS, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('limits.current', () => {
  test('shows what a key has used of both windows', async () => {
    if (EXTERNAL.type !== 'api-key') throw new Error('a key');
    const nowMs = api.clock().getTime();
    /** When what is used now is freed: a window after its second, or its quarter of an hour, is over. */
    const freedAt = (bucketMs: number, windowMs: number) =>
      new Date(Math.floor(nowMs / bucketMs) * bucketMs + bucketMs + windowMs);
    const unused = await api.callAs(EXTERNAL).limits.current();
    expect(unused).toMatchObject({ minute: { used: 0, remaining: 60 }, day: { used: 0, remaining: 1_000 } });
    await api.limiter.check(apiKeySubject(EXTERNAL.keyId, EXTERNAL.plan), 2);
    for (let i = 0; i < 2; i++) {
      expect(await api.callAs(EXTERNAL).limits.current()).toEqual({
        minute: { limit: 60, used: 2, remaining: 58, reset: freedAt(1_000, 60_000) },
        day: { limit: 1_000, used: 2, remaining: 998, reset: freedAt(900_000, 86_400_000) },
        refusals: 0,
      });
    }
  });

  test('shows the same over REST, times as texts', async () => {
    const { minute, day, ...others } = (await api.callAs(EXTERNAL).limits.current()) ?? {};
    const result = await api.callRest('getLimits');
    if (result.type !== 'json') throw new Error(`not JSON, but ${result.type}`);
    expect(JSON.parse(result.text)).toEqual({
      minute: { ...minute, reset: minute?.reset.toISOString() },
      day: { ...day, reset: day?.reset.toISOString() },
      ...others,
    });
    await expect(api.callRest('getLimits', {}, 'x=1')).rejects.toThrow('This operation accepts no query parameters.');
  });

  test('shows what is used although the plan was lowered below it', async () => {
    if (EXTERNAL.type !== 'api-key') throw new Error('a key');
    const keyId = 'lowered1' as typeof EXTERNAL.keyId; // any id will do
    await api.limiter.check(apiKeySubject(keyId, { name: 'pro' }), 100);
    expect(await api.callAs({ ...EXTERNAL, keyId }).limits.current()).toMatchObject({
      minute: { limit: 60, used: 100, remaining: 0 },
    });
  });

  test('is null for callers in the same process, whom nothing limits', async () => {
    expect(await api.callAs(IN_PROCESS).limits.current()).toBeNull();
  });
});
